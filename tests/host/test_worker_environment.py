"""How the tests come by a Python 3.13 with the worker library."""

import time
from pathlib import Path

import pytest

from tests.support.worker_index import environment

pytestmark = pytest.mark.host


def program(file: Path, script: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def test_a_shim_that_stands_for_nothing_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "shims" / "python3.13", "echo 'python3.13: command not found' >&2; exit 127")
    real = program(tmp_path / "versions" / "3.13.0" / "bin" / "python3.13", "printf 'Python 3.13'")
    monkeypatch.setenv("PATH", str(tmp_path / "shims"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert environment.find_python() == real


def test_another_python_under_the_name_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "python3.13", "exit 0")  # the probe prints nothing for an unusable one
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "none"))
    assert environment.find_python() is None


def test_a_failed_step_is_explained_with_its_last_lines(tmp_path: Path) -> None:
    pip = program(tmp_path / "pip", "echo 'ERROR: No matching distribution found for nothing'; exit 1")
    with pytest.raises(environment.WorkerSetupError, match="Installing failed") as failure:
        environment.run([str(pip)], "Installing", time.monotonic() + 120)
    assert "No matching distribution found for nothing" in str(failure.value)


def test_a_step_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pip = program(tmp_path / "pip", "echo looking; sleep 600 & wait")  # the child keeps the output open
    begun = time.monotonic()
    with pytest.raises(environment.WorkerSetupError, match="did not answer in time"):
        environment.run([str(pip)], "Installing", begun + 1)
    assert time.monotonic() - begun < 300


def test_what_is_up_to_date_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "made"
    python = f"""
case "$*" in
  *"-m venv"*) echo venv >> {made}; mkdir -p {tmp_path}/home/bin; cp "$0" {tmp_path}/home/bin/python ;;
  *"-m pip"*) echo pip >> {made} ;;
  *) printf 'Python 3.13' ;;
esac"""
    base = program(tmp_path / "python3.13", python)
    environment.prepare(base, tmp_path / "home")
    environment.prepare(base, tmp_path / "home")
    assert made.read_text().split() == ["venv", "pip"]

    (tmp_path / "requirements.txt").write_text("another==1")
    (tmp_path / "requirements-worker.txt").write_text("another==1")
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    environment.prepare(base, tmp_path / "home")
    assert made.read_text().split() == ["venv", "pip"] * 2


def test_an_interrupted_installation_is_begun_anew(tmp_path: Path) -> None:
    base = program(
        tmp_path / "python3.13",
        f"""
case "$*" in
  *"-m venv"*) mkdir -p {tmp_path}/home/bin; cp "$0" {tmp_path}/home/bin/python ;;
  *"-m pip"*) if [ ! -e {tmp_path}/tried ]; then touch {tmp_path}/tried; exit 1; fi ;;
  *) printf 'Python 3.13' ;;
esac""",
    )
    with pytest.raises(environment.WorkerSetupError):
        environment.prepare(base, tmp_path / "home")
    assert environment.prepare(base, tmp_path / "home") == tmp_path / "home" / "bin" / "python"
