"""Requests that a host refuses before any function, and what it never repeats of them."""

import json
import socket
from collections.abc import Iterator

import pytest

from tests.host.harness import PATIENCE_SECONDS, HostProcess, start_fails, write_app

pytestmark = pytest.mark.host

APP = """
@app.route(route="echo/{*rest}")
async def echo(req: func.HttpRequest) -> func.HttpResponse:
    print("echo was called", flush=True)
    return func.HttpResponse(str(len(req.get_body())))

@app.route(route="broken-off")
async def broken_off(req: func.HttpRequest) -> func.HttpResponse:
    print("broken-off was called", flush=True)
    return func.HttpResponse("called")
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    folder = tmp_path_factory.mktemp("limits")
    app = write_app(folder, APP, values={"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": "1000"})
    with HostProcess(app) as running:
        yield running


def test_a_body_over_the_limit_is_413(host: HostProcess) -> None:
    assert host.request("POST", "/api/echo/x", b"x" * 1000).body == b"1000"
    assert host.request("POST", "/api/echo/x", b"x" * 1001).status == 413


def test_a_body_over_the_limit_is_refused_before_any_of_it_is_sent(host: HostProcess) -> None:
    with socket.create_connection(("127.0.0.1", host.port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(b"POST /api/echo/x HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000000\r\n\r\n")
        assert connection.recv(1024).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("limit", ["lots", "0", "-1", "1e6"])
def test_a_limit_that_is_no_number_of_bytes_does_not_start(
    tmp_path_factory: pytest.TempPathFactory, limit: str
) -> None:
    app = write_app(
        tmp_path_factory.mktemp("limit"), APP, values={"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": limit}
    )
    assert "FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: expected a number of bytes" in start_fails(app)


def test_an_answer_that_takes_too_long_is_504_and_the_function_runs_on(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    source = """
import asyncio, os

@app.route(route="slow")
async def slow(req: func.HttpRequest) -> func.HttpResponse:
    while not os.path.exists("let-go"):
        await asyncio.sleep(0.01)
    print("slow one is done", flush=True)
    return func.HttpResponse("late")
"""
    app = write_app(tmp_path_factory.mktemp("slow"), source)
    with HostProcess(app, ("--answer-timeout", "0.5")) as host:
        answer = host.request("GET", "/api/slow")
        assert (answer.status, answer.body) == (504, b"")
        (app / "let-go").touch()
        host.wait_for_log("slow one is done")


def test_queries_headers_and_bodies_are_not_logged(host: HostProcess) -> None:
    host.request("POST", "/api/echo/logged?code=query-marker", b"body-marker", {"X-Secret": "header-marker"})
    log = host.wait_for_log("path='/api/echo/logged' status=200")
    assert "marker" not in log


REFUSED = {
    "NUL in a header": b"GET /api/echo/x HTTP/1.1\r\nHost: h\r\nX-Key: header-marker\0\r\n\r\n",
    "two lengths": b"POST /api/echo/x HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nbody-marker",
    "no length": b"POST /api/echo/x HTTP/1.1\r\nHost: h\r\nContent-Length: marker\r\n\r\nbody-marker",
    "bad method": b"G<marker>T /api/echo/x HTTP/1.1\r\nHost: h\r\n\r\n",
    "no HTTP": b"marker\r\n\r\n",
    "bad chunk": b"POST /api/echo/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nmarker\r\n\r\n",
    "space in a name": b"GET /api/echo/x HTTP/1.1\r\nHost: h\r\nX marker: 1\r\n\r\n",
}


LONG_LINE = b"GET /api/echo/x?code=query-marker" + b"a" * 9000 + b" HTTP/1.1\r\nHost: h\r\n\r\n"
LONG_HEADER = b"GET /api/echo/x HTTP/1.1\r\nHost: h\r\nX-Key: marker" + b"a" * 40_000 + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        *(pytest.param(raw, b"400", id=name) for name, raw in REFUSED.items()),
        pytest.param(LONG_LINE, b"414", id="line too long"),
        pytest.param(LONG_HEADER, b"431", id="header too long"),
    ],
)
def test_a_request_that_cannot_be_parsed_is_an_empty_answer_and_quoted_nowhere(
    host: HostProcess, raw: bytes, status: bytes
) -> None:
    before = host.log()
    head, _, body = host.raw(raw).partition(b"\r\n\r\n")
    assert head.split()[1] == status
    assert body == b""
    assert b"marker" not in head
    after = host.log()[len(before) :]
    assert "marker" not in after
    assert "Traceback" not in after
    assert host.request("GET", "/api/echo/x").status == 200


@pytest.mark.parametrize("value", [b"\xff\xfe", b"caf\xe9", b"\xed\xa0\x80"])
def test_a_header_that_is_no_utf8_is_an_empty_400_and_quoted_nowhere(host: HostProcess, value: bytes) -> None:
    begun = host.log()
    raw = b"GET /api/echo/x HTTP/1.1\r\nHost: h\r\nX-Odd: marker" + value + b"\r\nConnection: close\r\n\r\n"
    head, _, body = host.raw(raw).partition(b"\r\n\r\n")
    assert b" 400 " in head.splitlines()[0]
    assert body == b""
    assert b"marker" not in head
    assert "marker" not in host.log()[len(begun) :]


def test_utf8_in_a_header_is_text(host: HostProcess) -> None:
    raw = "GET /api/echo/x HTTP/1.1\r\nHost: h\r\nX-Name: Zoë\r\nConnection: close\r\n\r\n".encode()
    assert host.raw(raw).startswith(b"HTTP/1.1 200 ")


def test_a_request_without_a_host_header_is_400(host: HostProcess) -> None:
    answer = host.raw(b"GET /api/echo/x HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert b" 400 " in answer.splitlines()[0]


def test_a_body_that_breaks_off_reaches_no_function(host: HostProcess) -> None:
    with socket.create_connection(("127.0.0.1", host.port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(b"POST /api/broken-off HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf")
    log = host.wait_for_log("event=bad_request error=ConnectionResetError")
    assert "broken-off was called" not in log


def test_a_failing_function_answers_500_without_a_word_of_its_error(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    source = """
@app.route(route="boom")
async def boom(req: func.HttpRequest) -> func.HttpResponse:
    raise ValueError("inner-marker")
"""
    with HostProcess(write_app(tmp_path_factory.mktemp("boom"), source)) as host:
        answer = host.request("GET", "/api/boom", headers={"Accept": "text/html"})
        assert (answer.status, answer.body) == (500, b"")
        assert "marker" not in json.dumps(answer.headers)
