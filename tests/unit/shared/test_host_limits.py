"""The times of host.json."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.host_limits import HostLimits, read_host_limits
from shared.settings import APP_ROOT


def host_json(folder: Path, timeout: object = None, renewal: object = None) -> Path:
    document: dict[str, Any] = {"version": "2.0", "extensions": {"serviceBus": {}}}
    if timeout is not None:
        document["functionTimeout"] = timeout
    if renewal is not None:
        document["extensions"]["serviceBus"]["maxAutoLockRenewalDuration"] = renewal
    path = folder / "host.json"
    path.write_text(json.dumps(document))
    return path


def problem_of(path: Path) -> str:
    limits, problems = read_host_limits(path)
    assert limits is None
    (problem,) = problems
    return str(problem)


def test_both_times_are_read(tmp_path: Path) -> None:
    limits, problems = read_host_limits(host_json(tmp_path, "00:30:00", "00:40:00"))
    assert (limits, problems) == (
        HostLimits(function_timeout=timedelta(minutes=30), lock_renewal=timedelta(minutes=40)),
        [],
    )


def test_the_apps_own_host_json_holds() -> None:
    limits, problems = read_host_limits(APP_ROOT / "host.json")
    assert limits is not None
    assert problems == []


def test_without_a_renewal_the_platforms_five_minutes_count(tmp_path: Path) -> None:
    limits, _ = read_host_limits(host_json(tmp_path, "00:04:00"))
    assert limits == HostLimits(function_timeout=timedelta(minutes=4), lock_renewal=timedelta(minutes=5))
    assert "expected more than functionTimeout (10m), found 5m" in problem_of(host_json(tmp_path, "00:10:00"))


@pytest.mark.parametrize("renewal", ["00:30:00", "00:29:59"])
def test_the_lock_must_outlive_the_function(tmp_path: Path, renewal: str) -> None:
    text = problem_of(host_json(tmp_path, "00:30:00", renewal))
    assert text.startswith("host.json: extensions.serviceBus.maxAutoLockRenewalDuration: expected more than")


@pytest.mark.parametrize(("timeout", "found"), [(None, "none"), ("-1", '"-1"'), ("30m", '"30m"'), (30, "30")])
def test_the_function_needs_a_limit(tmp_path: Path, timeout: object, found: str) -> None:
    text = problem_of(host_json(tmp_path, timeout, "00:40:00"))
    assert text == f'host.json: functionTimeout: expected a limit such as "00:30:00", found {found}'


def test_a_missing_or_broken_file_is_a_problem(tmp_path: Path) -> None:
    assert "expected a file at" in problem_of(tmp_path / "host.json")
    (tmp_path / "host.json").write_text("{")
    assert "expected a JSON document" in problem_of(tmp_path / "host.json")
    (tmp_path / "host.json").write_text("[]")
    assert "functionTimeout" in problem_of(tmp_path / "host.json")
