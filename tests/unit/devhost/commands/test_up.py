"""`dev.py up`, as a process of its own, with a small app."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from devhost.commands.running import NotRunningError, url_of
from devhost.paths import ROOT
from devhost.ports import LOOPBACK
from tests.support.http import request
from tests.support.small_app import small_app
from tests.support.waiting import eventually, is_alive

RUN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell takes it from background jobs
from devhost.commands import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("up")
    small_app(folder)
    return folder


@contextmanager
def up(app: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    given = ["up", "--app", str(app / "app"), "--pipeline", str(app / "pipeline.toml"), *arguments]
    with (
        (app / "stderr").open("w") as stderr,
        subprocess.Popen(
            [sys.executable, "-c", RUN, *given], cwd=ROOT, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


def ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    document = json.loads(process.stdout.readline())
    assert isinstance(document, dict)
    return document


def test_json_is_one_line_with_everything_a_client_needs_and_ctrl_c_ends_it_all(app: Path) -> None:
    with up(app, "--json", "--state", str(app / "one")) as process:
        said = ready(process)
        assert set(said) == {"url", "operator_key", "servicebus", "storage", "secrets", "pids"}
        assert set(said["pids"]) == {"host", "broker", "azurite"}
        headers = {"x-functions-key": said["operator_key"]}
        assert request("POST", f"{said['url']}/api/send", headers)[0] == 200
        assert url_of(app / "one") == said["url"]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""
    assert not any(is_alive(pid) for pid in said["pids"].values())
    assert not (app / "one" / "running.json").exists()


def test_nothing_is_left_when_up_itself_is_killed(app: Path) -> None:
    with up(app, "--json", "--outside", "--state", str(app / "two")) as process:
        said = ready(process)
        assert "outside" in said["pids"]
        assert request("GET", f"{said['outside']}/control/effects")[0] == 200
        process.kill()
    eventually(lambda: not any(is_alive(pid) for pid in said["pids"].values()), "all parts are gone")
    with pytest.raises(NotRunningError):
        url_of(app / "two")


def test_a_dead_host_is_started_again_and_it_is_said(app: Path) -> None:
    with up(app, "--json", "--state", str(app / "three")) as process:
        said = ready(process)
        os.kill(said["pids"]["host"], signal.SIGKILL)
        eventually(lambda: "starting it again now" in (app / "stderr").read_text(), "it is said")

        def answers() -> bool:
            try:
                return request("POST", f"{said['url']}/api/write/again")[0] == 200
            except OSError:
                return False

        eventually(answers, "the host answers at the same address")
        eventually(lambda: "The host is ready again after" in (app / "stderr").read_text(), "it is said")


def test_a_person_is_shown_addresses_keys_and_a_curl_that_works(app: Path) -> None:
    with up(app, "--outside", "--state", str(app / "four")) as process:
        assert process.stdout is not None
        shown = ""
        while "Ctrl-C ends it." not in shown:
            line = process.stdout.readline()
            assert line, (app / "stderr").read_text()
            shown += line
    assert all(
        name in shown
        for name in (
            "URL",
            "Webhooks",
            "Operator key",
            "Service Bus",
            "Storage",
            "Outside",
            "Secret of github",
        )
    )
    assert "curl -sS" in shown


def test_a_taken_port_is_a_sentence(app: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        with up(app, "--port", str(port), "--state", str(app / "five")) as process:
            assert process.wait(60) == 1
    said = (app / "stderr").read_text()
    assert f"Port {port} is taken" in said
    assert "Traceback" not in said


def test_a_missing_pipeline_file_is_a_sentence(app: Path) -> None:
    with up(app, "--pipeline", str(app / "none.toml"), "--state", str(app / "six")) as process:
        assert process.wait(60) == 1
    said = (app / "stderr").read_text()
    assert "none.toml cannot be read" in said
    assert "Traceback" not in said
