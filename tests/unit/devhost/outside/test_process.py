"""The outside as a process, and its control."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from devhost import paths
from devhost.outside import Outside, OutsideError, steps
from devhost.parts import PartError
from devhost.system import SYSTEM

OPENER = build_opener(ProxyHandler({}))


def happen(outside: Outside, kind: str = "blind", *, key: str = "k", **fields: str) -> dict[str, Any]:
    headers = {"content-type": "application/json", "idempotency-key": key}
    request = Request(f"{outside.effects_url}/{kind}", json.dumps(fields).encode(), headers)
    with OPENER.open(request, timeout=60) as answer:
        made: dict[str, Any] = json.loads(answer.read())
    return made


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "devhost.outside", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=paths.ROOT, timeout=60, check=False)


@pytest.fixture
def lasting(tmp_path: Path) -> Iterator[Outside]:
    with Outside(state=tmp_path / "state", log=tmp_path / "log") as running:
        yield running


def test_it_knows_what_happened_after_a_kill_and_keeps_its_port(lasting: Outside) -> None:
    url, made = lasting.url, happen(lasting, "keyed")
    lasting.kill()
    with pytest.raises(PartError, match="not running"):
        _ = lasting.pid
    lasting.start()
    assert lasting.url == url
    assert happen(lasting, "keyed") == made
    assert (lasting.effects()["keyed"].count, lasting.effects()["keyed"].repeats) == (1, 1)


def test_sigterm_ends_it_at_once_though_calls_are_held(tmp_path: Path) -> None:
    with Outside(log=tmp_path / "log") as outside, ThreadPoolExecutor() as threads:
        outside.script("POST", "/effects/blind", steps.hold("here"))
        call = threads.submit(happen, outside)
        outside.wait_held("here")
        assert outside.end(), "it had to be killed"
        assert isinstance(call.exception(), OSError)
    assert (tmp_path / "log").read_text().count("\n") == 1, "it says that it is ready, and nothing more"


def test_a_frozen_outside_goes_on_where_it_was(lasting: Outside) -> None:
    SYSTEM.freeze(lasting.pid)
    with ThreadPoolExecutor() as threads:
        call = threads.submit(happen, lasting)
        assert not call.done()
        SYSTEM.thaw(lasting.pid)
        assert call.result()["kind"] == "blind"


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run("--port", str(taken.getsockname()[1]))
    assert ended.returncode == 2
    assert "cannot listen" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_state_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("not a state\n")
    ended = run("--state", str(tmp_path / "state"))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "line 1" in ended.stderr
    ended = run("--state", str(tmp_path))
    assert ended.returncode == 2
    assert "cannot be kept" in ended.stderr


def test_counts_are_those_of_what_happened_and_calls_those_of_what_came(outside: Outside) -> None:
    outside.script("POST", "/effects/*", steps.status(503, times=2))
    for _ in range(2):
        with pytest.raises(HTTPError) as refused:
            happen(outside, reference="r")
        refused.value.close()
    happen(outside, reference="r")
    assert outside.effects()["blind"].by_reference == {"r": 1}
    assert outside.calls() == {"POST /effects/blind": 3}
    assert outside.scripts_left() == 0


def test_after_a_reset_a_held_call_has_no_effect(outside: Outside) -> None:
    outside.script("POST", "/effects/blind", steps.hold("here"), steps.hold("there"))
    with ThreadPoolExecutor() as threads:
        call = threads.submit(happen, outside)
        outside.wait_held("here")
        outside.reset()
        refused = call.exception()
        assert isinstance(refused, HTTPError)
        assert refused.code == 503
        refused.close()
    assert (outside.effects()["blind"].count, outside.calls(), outside.scripts_left()) == (0, {}, 0)


def test_the_time_can_be_moved(outside: Outside) -> None:
    outside.configure(key_window_seconds=3_600)
    first = happen(outside, "keyed")
    assert happen(outside, "keyed") == first
    outside.advance(3_600)
    assert happen(outside, "keyed") != first


def test_a_cut_ends_the_connection_and_the_next_call_is_well(outside: Outside) -> None:
    outside.script("POST", "/effects/blind", "cut_after", {"cut_before": "reset"})
    with pytest.raises(RemoteDisconnected):
        happen(outside)
    with pytest.raises(ConnectionResetError):
        happen(outside)
    happen(outside)
    assert outside.effects()["blind"].count == 2


def test_what_control_cannot_do_is_refused_with_a_reason(outside: Outside) -> None:
    refusals: list[tuple[Callable[[], None], str]] = [
        (lambda: outside.script("POST", "/x", "explode"), "explode"),
        (lambda: outside.configure(colour="red"), "colour"),
        (lambda: outside.advance(-1), "not below zero"),
        (lambda: outside.finish_video("video_unknown"), "no video"),
        (lambda: outside.finish_video("video_unknown", callback_url="http://192.0.2.1/"), "loopback"),
        (lambda: outside.wait_held("nobody", timeout=0), "no call was held"),
    ]
    for ask, why in refusals:
        with pytest.raises(OutsideError, match=why):
            ask()
    assert outside.release("nobody") == 0


def test_secrets_of_callers_are_not_kept(outside: Outside) -> None:
    headers = {"authorization": "Bearer invented-secret", "x-other": "shown"}
    with OPENER.open(Request(f"{outside.callbacks_url}/name", b"{}", headers), timeout=60) as answer:
        assert answer.status == 204
    received = outside.callbacks()[0]["headers"]
    assert (received["authorization"], received["x-other"]) == ("Bearer ***", "shown")


def test_a_body_that_is_too_long_is_refused(outside: Outside) -> None:
    body = bytes(33 * 1024 * 1024)
    with pytest.raises((HTTPError, ConnectionError)) as refused:
        OPENER.open(Request(f"{outside.effects_url}/blind", body), timeout=60)
    if isinstance(refused.value, HTTPError):
        assert refused.value.code == 413
        refused.value.close()
    assert outside.effects()["blind"].count == 0
