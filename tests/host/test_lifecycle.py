"""Stopping and dying: drain at SIGTERM, `functionTimeout`, and what ends a worker."""

import threading
from pathlib import Path

import pytest

from tests.host.harness import Answer, HostProcess, write_app

pytestmark = pytest.mark.host

SLOW = """
import asyncio, os, sys, time

@app.route(route="held")
async def held(req: func.HttpRequest) -> func.HttpResponse:
    print("held has begun", flush=True)
    while not os.path.exists("let-go"):
        await asyncio.sleep(0.01)
    return func.HttpResponse("done")

@app.route(route="sync-held")
def sync_held(req: func.HttpRequest) -> func.HttpResponse:
    print("held has begun", flush=True)
    while not os.path.exists("let-go"):
        time.sleep(0.01)
    return func.HttpResponse("done")

@app.route(route="slow/{seconds}")
async def slow(req: func.HttpRequest) -> func.HttpResponse:
    print("slow has begun", flush=True)
    await asyncio.sleep(float(req.route_params["seconds"]))
    return func.HttpResponse("done")

@app.route(route="block/{seconds}")
async def block(req: func.HttpRequest) -> func.HttpResponse:
    time.sleep(float(req.route_params["seconds"]))
    return func.HttpResponse("done")

@app.route(route="sync/{seconds}")
def sync(req: func.HttpRequest) -> func.HttpResponse:
    print("slow has begun", flush=True)
    time.sleep(float(req.route_params["seconds"]))
    return func.HttpResponse("done")

@app.route(route="exit")
async def leave(req: func.HttpRequest) -> func.HttpResponse:
    sys.exit(3)

@app.route(route="cancel")
async def cancel(req: func.HttpRequest) -> func.HttpResponse:
    raise asyncio.CancelledError

@app.route(route="ok")
def ok(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("ok")
"""


class _InBackground:
    """A request on a thread; `answer` is None if the connection was cut."""

    def __init__(self, host: HostProcess, target: str) -> None:
        self.answer: Answer | None = None
        self._host, self._target = host, target
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.answer = self._host.request("GET", self._target)
        except (OSError, EOFError):
            self.answer = None
        except Exception as error:
            if type(error).__name__ not in {"RemoteDisconnected", "IncompleteRead"}:
                raise

    def join(self) -> Answer | None:
        self._thread.join()
        return self.answer


def test_sigterm_while_idle_ends_with_0(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, SLOW)) as host:
        assert host.terminate() == 0


@pytest.mark.parametrize("function", ["held", "sync-held"])
def test_sigterm_lets_a_running_function_finish_and_answer(tmp_path: Path, function: str) -> None:
    with HostProcess(write_app(tmp_path, SLOW)) as host:
        request = _InBackground(host, f"/api/{function}")
        host.wait_for_log("held has begun")
        host.process.terminate()
        host.wait_for_log("event=stopping")
        (tmp_path / "let-go").touch()
        assert host.wait() == 0
        answer = request.join()
        assert answer is not None
        assert (answer.status, answer.body) == (200, b"done")


def test_a_stopping_host_takes_no_new_connections(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, SLOW)) as host:
        request = _InBackground(host, "/api/held")
        host.wait_for_log("held has begun")
        host.process.terminate()
        host.wait_refusing()
        assert host.process.poll() is None
        (tmp_path / "let-go").touch()
        assert host.wait() == 0
        answer = request.join()
        assert answer is not None
        assert answer.body == b"done"


def test_the_grace_period_ends_even_if_a_function_does_not(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, SLOW), ("--grace", "0.5")) as host:
        request = _InBackground(host, "/api/sync-held")
        host.wait_for_log("held has begun")
        assert host.terminate() == 0
        assert "event=cut_off running=1" in host.log()
        request.join()


@pytest.mark.parametrize("function", ["slow", "block", "sync"])
def test_a_function_over_its_timeout_takes_the_process_down_with_70(tmp_path: Path, function: str) -> None:
    with HostProcess(write_app(tmp_path, SLOW, host_json={"functionTimeout": "00:00:01"})) as host:
        request = _InBackground(host, f"/api/{function}/600")
        assert host.wait() == 70
        assert f"event=worker_died function={function}" in host.log()
        request.join()


def test_functions_within_their_timeout_do_not(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, SLOW, host_json={"functionTimeout": "00:00:05"})) as host:
        for _ in range(4):
            assert host.request("GET", "/api/slow/1.3").status == 200


def test_a_function_that_exits_takes_the_process_down_with_70(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, SLOW)) as host:
        request = _InBackground(host, "/api/exit")
        assert host.wait() == 70
        assert "SystemExit" in host.log()
        request.join()


def test_an_escaped_cancellation_is_never_answered_so_the_timeout_takes_the_process_down(
    tmp_path: Path,
) -> None:
    with HostProcess(write_app(tmp_path, SLOW, host_json={"functionTimeout": "00:00:06"})) as host:
        request = _InBackground(host, "/api/cancel")
        host.wait_for_log("event=never_answered function=cancel")
        assert host.request("GET", "/api/ok").body == b"ok"
        assert host.wait() == 70
        assert request.join() is None
