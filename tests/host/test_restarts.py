"""A host alone (`--restart`): when its process ends by itself, another one goes on in its place."""

import json
import os
import re
import signal
import threading
from pathlib import Path

import pytest

from tests.host.harness import Answer, HostProcess, write_app
from tests.support.waiting import eventually, is_alive

pytestmark = pytest.mark.host

APP = """
import asyncio, os, subprocess, sys, time

@app.route(route="pid", auth_level="FUNCTION")
def pid(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(str(os.getpid()))

@app.route(route="slow")
async def slow(req: func.HttpRequest) -> func.HttpResponse:
    print("slow has begun", flush=True)
    await asyncio.sleep(600)
    return func.HttpResponse("done")

@app.route(route="brief")
async def brief(req: func.HttpRequest) -> func.HttpResponse:
    print("brief has begun", flush=True)
    await asyncio.sleep(1)
    return func.HttpResponse("done")

@app.route(route="exit")
def leave(req: func.HttpRequest) -> func.HttpResponse:
    sys.exit(3)

@app.route(route="exit-with-child")
def leave_child(req: func.HttpRequest) -> func.HttpResponse:
    child = subprocess.Popen(["sleep", "600"])
    print(f"child={child.pid}", flush=True)
    sys.exit(3)

@app.route(route="exit-as-if-in-order")
def leave_quietly(req: func.HttpRequest) -> func.HttpResponse:
    os._exit(0)

@app.route(route="exit-with-daemon")
def leave_daemon(req: func.HttpRequest) -> func.HttpResponse:
    daemon = subprocess.Popen(["sleep", "600"], start_new_session=True)
    print(f"daemon={daemon.pid}", flush=True)
    os._exit(3)

@app.route(route="crash")
def crash(req: func.HttpRequest) -> func.HttpResponse:
    os.abort()
"""


def _pid(host: HostProcess) -> int:
    key = host.ready["keys"]["functions"]["pid"]
    answer = host.request("GET", "/api/pid", headers={"x-functions-key": key})
    assert answer.status == 200
    return int(answer.body)


def _cut(host: HostProcess, target: str) -> Answer | None:
    """The answer, or None when the connection was cut."""
    try:
        return host.request("GET", target)
    except ConnectionError:
        return None


@pytest.mark.parametrize(
    ("target", "cause"),
    [
        ("/api/slow", "exit_code=70"),
        ("/api/exit-with-child", "exit_code=70"),
        ("/api/exit-with-daemon", "exit_code=3"),
        ("/api/exit-as-if-in-order", "exit_code=0"),
        ("/api/crash", "exit_code=-6"),
    ],
)
def test_a_new_process_goes_on_with_the_port_and_the_keys(tmp_path: Path, target: str, cause: str) -> None:
    app = write_app(tmp_path, APP, host_json={"functionTimeout": "00:00:04"})
    with HostProcess(app, ("--restart",)) as host:
        assert host.ready["pid"] == host.process.pid
        assert host.port < 32_768  # no client is given it as its own while the host is down
        first = _pid(host)
        assert first != host.process.pid
        assert _cut(host, target) is None
        log = host.wait_for_log("event=started", times=2)
        assert f"event=worker_restarting {cause} in_s=0" in log
        assert _pid(host) not in (first, host.process.pid)
        for child in re.findall(r"child=(\d+)", log):
            eventually(lambda pid=int(child): not is_alive(pid), "the child is gone")  # type: ignore[misc]
        for daemon in re.findall(r"daemon=(\d+)", log):  # it left the process group, as daemons do
            os.kill(int(daemon), signal.SIGKILL)
        assert host.terminate() == 0
        keys = json.dumps(host.ready["keys"]["functions"]["pid"])
        assert keys not in host.log()


def test_every_other_job_of_the_process_dies_with_it(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, APP), ("--restart",)) as host:
        answers: list[Answer | None] = []
        waiting = threading.Thread(target=lambda: answers.append(_cut(host, "/api/slow")))
        waiting.start()
        host.wait_for_log("slow has begun")
        _cut(host, "/api/exit")
        waiting.join()
        assert answers == [None]
        host.wait_for_log("event=started", times=2)
        assert host.terminate() == 0


def test_sigterm_is_passed_on_and_drains(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, APP), ("--restart",)) as host:
        answers: list[Answer | None] = []
        waiting = threading.Thread(target=lambda: answers.append(_cut(host, "/api/brief")))
        waiting.start()
        host.wait_for_log("brief has begun")
        assert host.terminate() == 0
        waiting.join()
        assert answers[0] is not None
        assert answers[0].body == b"done"
        assert "event=stopped" in host.log()


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, APP), ("--restart",)) as host:
        waiting = threading.Thread(target=lambda: _cut(host, "/api/slow"))
        waiting.start()
        host.wait_for_log("slow has begun")
        host.process.send_signal(signal.SIGINT)
        host.wait_for_log("event=stopping")
        host.process.send_signal(signal.SIGINT)
        assert host.wait() == 130
        waiting.join()


def test_the_host_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, APP), ("--restart",)) as host:
        child = _pid(host)
        host.process.kill()
        eventually(lambda: not is_alive(child), "the host is gone")


@pytest.mark.parametrize("arguments", [(), ("--restart",)])
def test_what_programs_of_the_app_print_goes_to_the_log(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    app = write_app(tmp_path, 'import subprocess\nsubprocess.run(["echo", "a program ran"])\n' + APP)
    with HostProcess(app, arguments) as host:
        assert host.ready["port"]
        host.wait_for_log("a program ran")


def test_one_that_never_got_ready_is_not_started_again(tmp_path: Path) -> None:
    app = write_app(tmp_path, "raise ZeroDivisionError\n")
    with HostProcess(app, ("--restart",)) as host:
        assert host.wait() == 1
        assert host.log().count("event=start_failed") == 1
        assert host.ready == {}
