"""Hosts that are forked in test runs are processes like those started from scratch."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.host.harness import PATIENCE_SECONDS, REPOSITORY, HostProcess, start_fails, write_app
from tests.support.forking.process import ForkedProcess

pytestmark = [
    pytest.mark.host,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to who asks for them"),
]
APP = """
import json, os, sys

@app.route(route="self")
def itself(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(json.dumps({
        "pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "word": os.environ.get("WORD"),
        "only_mine": os.environ.get("ONLY_MINE"), "folder": os.getcwd(), "arguments": sys.argv[1:],
    }))
"""


def forked(app: Path, environment: dict[str, str], *, session: bool = False) -> ForkedProcess:
    command = [sys.executable, "-m", "devhost.functions", "--app", str(app)]
    return ForkedProcess(
        command,
        cwd=REPOSITORY,
        env={name: value for name, value in os.environ.items() if name != "ONLY_MINE"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=session,
    )


def port_of(process: ForkedProcess) -> int:
    assert process.stdout is not None
    return int(json.loads(process.stdout.readline())["port"])


def test_it_is_our_child_with_its_own_environment_arguments_and_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_MINE", "not given on")
    with forked(write_app(tmp_path, APP), {"WORD": "given"}) as process:
        host = HostProcess(tmp_path)
        host.ready = {"port": port_of(process)}
        seen = host.request("GET", "/api/self").json()
        process.terminate()
    assert seen == {
        "pid": process.pid,
        "parent": os.getpid(),
        "session": os.getsid(0),
        "word": "given",
        "only_mine": None,
        "folder": str(tmp_path),
        "arguments": ["--app", str(tmp_path)],
    }
    assert process.returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_its_end_is_told_as_that_of_any_child(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with forked(write_app(tmp_path, APP), {}, session=True) as process:
        port_of(process)
        assert os.getsid(process.pid) == process.pid
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == code


def test_a_start_that_fails_says_the_same_forked_and_from_scratch(tmp_path: Path) -> None:
    app = write_app(tmp_path, "import no_such_module_here\n")
    command = [sys.executable, "-m", "devhost.functions", "--app", str(app)]
    scratch = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert scratch.returncode == 1
    assert _without_times(start_fails(app)) == _without_times(scratch.stderr)


def _without_times(log: str) -> list[str]:
    return [line.partition(" level=")[2] or line for line in log.splitlines()]
