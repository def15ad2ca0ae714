"""What `up` and `demo` refuse before they start a process."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from devhost import paths, stack
from devhost.azurite import install
from devhost.commands import run


@pytest.fixture(autouse=True)
def signals_as_they_were() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_given: object) -> None:
        raise AssertionError("a part was started")

    monkeypatch.setattr(stack, "Supervised", started)
    monkeypatch.setattr(install, "ensure", lambda _home: None)


def test_a_bad_pipeline_is_said_with_its_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = tmp_path / "pipeline.toml"
    pipeline.write_text(paths.PIPELINE.read_text("utf-8").replace('"github"', '"gitlab"', 1), "utf-8")
    assert run(["up", "--state", str(tmp_path / "state"), "--pipeline", str(pipeline)]) == 1
    said = capsys.readouterr().err
    assert "Nothing was started" in said
    assert "gitlab" in said


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is not valid JSON"),
        (json.dumps({"Values": {"SWEEP_GRACE_SECONDS": "often"}}), "SWEEP_GRACE_SECONDS: expected"),
        (json.dumps({"Values": {"EVENTS_WEBHOOK_SECRET": "whsec_"}}), "setting EVENTS_WEBHOOK_SECRET cannot"),
    ],
)
def test_bad_settings_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, sentence: str
) -> None:
    (tmp_path / "mine.json").write_text(content)
    assert run(["up", "--state", str(tmp_path / "state"), "--settings", str(tmp_path / "mine.json")]) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_state_folder_that_cannot_be_made_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "file").write_text("")
    assert run([command, "--state", str(tmp_path / "file" / "state")]) == 1
    assert "cannot be used for the stack's data: Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http"])
def test_a_port_that_is_none_is_said(capsys: pytest.CaptureFixture[str], port: str) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["up", f"--port={port}"])
    assert ended.value.code == 2
    assert "expected a number from 1 to 65535" in capsys.readouterr().err


def test_damaged_credentials_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "credentials.json").write_text("{")
    assert run(["up", "--state", str(tmp_path)]) == 1
    assert "credentials.json is damaged. Remove it" in capsys.readouterr().err
