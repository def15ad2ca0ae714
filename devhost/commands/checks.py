"""`dev.py test`: every kind of check, one after the other, and a closing table."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devhost import paths
from devhost.azurite import install
from devhost.progress import say
from devhost.system import SYSTEM

WORKERS = 4
"""More than the cores of a small machine: the tests wait for real processes more than they compute."""


@dataclass(frozen=True, slots=True)
class Check:
    """One kind of check: its name in the table and its command in `.venv`."""

    name: str
    command: Sequence[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a check ended, and in how many seconds."""

    check: Check
    code: int
    seconds: float


def main(arguments: Sequence[str]) -> int:
    """Run all checks, or with arguments only pytest with them; 0 when all passed."""
    if list(arguments) in (["-h"], ["--help"]):
        say("usage: python3 dev.py test [-- ARGS]\n\nRuns every check; with ARGS only pytest, with these.")
        return 0
    install.ensure(paths.AZURITE_HOME)
    given = list(arguments[1:] if arguments[:1] == ["--"] else arguments)
    outcomes = [run_check(check) for check in ([pytest_check(given)] if given else all_checks())]
    say(closing_table(outcomes))
    return next((outcome.code for outcome in outcomes if outcome.code != 0), 0)


def all_checks() -> list[Check]:
    """Cheap ones first."""
    return [
        Check("format", [_tool("ruff"), "format", "--check", "."]),
        Check("lint", [_tool("ruff"), "check", "."]),
        Check("types", [_tool("mypy")]),
        Check("imports", [_tool("lint-imports")]),
        pytest_check(["-n", str(WORKERS), "--dist", "loadfile", "--no-loadscope-reorder"]),
    ]


def pytest_check(arguments: Sequence[str]) -> Check:
    """Pytest with these arguments."""
    return Check("tests", [sys.executable, "-m", "pytest", *arguments])


def run_check(check: Check) -> Outcome:
    """Run one check with its output passed on as it comes."""
    say(f"\n== {check.name}: {' '.join([Path(check.command[0]).name, *check.command[1:]])}")
    begun = time.monotonic()
    code = subprocess.run(
        list(check.command), cwd=paths.ROOT, env=_environment(), stdin=subprocess.DEVNULL, check=False
    ).returncode
    return Outcome(check, code, time.monotonic() - begun)


def _environment() -> dict[str, str]:
    """Ours, with bytecode kept: the tests start hundreds of processes, and each would compile the project."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def closing_table(outcomes: Sequence[Outcome]) -> str:
    """One line a check."""
    lines = [
        f"  {outcome.check.name:<8} {_verdict(outcome.code):<20} {outcome.seconds:6.1f} s"
        for outcome in outcomes
    ]
    return "\n".join(["", *lines])


def _verdict(code: int) -> str:
    return "passed" if code == 0 else f"FAILED (code {code})"


def _tool(name: str) -> str:
    return str(SYSTEM.venv_program(Path(sys.prefix), name))
