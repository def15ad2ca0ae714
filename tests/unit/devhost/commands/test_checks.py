"""`dev.py test`."""

import sys

import pytest

from devhost.azurite import install
from devhost.commands import checks
from devhost.commands.checks import Check, closing_table, run_check


def test_every_kind_of_check_is_run() -> None:
    assert [check.name for check in checks.all_checks()] == ["format", "lint", "types", "imports", "tests"]


def test_the_code_of_a_check_is_kept_and_shown() -> None:
    outcome = run_check(Check("lint", [sys.executable, "-c", "raise SystemExit(3)"]))
    assert outcome.code == 3
    assert "FAILED (code 3)" in closing_table([outcome])


def test_all_checks_run_and_the_first_failure_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {"format": 0, "lint": 4, "types": 5}
    made = [Check(name, [sys.executable, "-c", f"raise SystemExit({code})"]) for name, code in codes.items()]
    ran: list[str] = []

    def noting(check: Check) -> checks.Outcome:
        ran.append(check.name)
        return run_check(check)

    monkeypatch.setattr(checks, "all_checks", lambda: made)
    monkeypatch.setattr(checks, "run_check", noting)
    monkeypatch.setattr(install, "ensure", lambda _home: None)
    assert checks.main([]) == 4
    assert ran == list(codes)
