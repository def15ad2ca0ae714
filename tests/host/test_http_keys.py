"""Who may call an HTTP function: keys of the function, of the host, and the master key."""

import json
from collections.abc import Iterator

import pytest

from tests.host.harness import HostProcess, write_app

pytestmark = pytest.mark.host

APP = """
@app.route(route="closed", auth_level=func.AuthLevel.FUNCTION)
def closed(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("open")

@app.route(route="other", auth_level=func.AuthLevel.FUNCTION)
def other(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("open")

@app.route(route="operators", auth_level=func.AuthLevel.ADMIN)
def operators(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("open")

@app.route(route="anyone")
def anyone(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("open")
"""
KEYS = {"master": "m-key", "default": "d-key", "functions": {"closed": "c-key", "other": "b-key"}}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    folder = tmp_path_factory.mktemp("keys")
    app = write_app(folder / "app", APP)
    keys = folder / "keys.json"
    keys.write_text(json.dumps(KEYS), encoding="utf-8")
    with HostProcess(app, ("--keys", str(keys))) as running:
        yield running


def test_the_ready_line_names_url_port_and_pid_but_no_keys_that_were_given(host: HostProcess) -> None:
    assert host.ready == {
        "url": f"http://127.0.0.1:{host.port}",
        "port": host.port,
        "pid": host.process.pid,
    }


@pytest.mark.parametrize("key", ["c-key", "d-key", "m-key"])
def test_function_level_opens_to_its_key_the_default_key_and_the_master_key(
    host: HostProcess, key: str
) -> None:
    assert host.request("GET", "/api/closed", headers={"x-functions-key": key}).status == 200
    assert host.request("GET", f"/api/closed?code={key}").status == 200


@pytest.mark.parametrize("key", ["", "b-key", "wrong", "c-key "])
def test_function_level_refuses_other_keys_with_an_empty_401(host: HostProcess, key: str) -> None:
    answer = host.request("GET", f"/api/closed?code={key.replace(' ', '%20')}")
    assert (answer.status, answer.body) == (401, b"")


def test_a_wrong_key_header_is_not_saved_by_a_right_code(host: HostProcess) -> None:
    assert host.request("GET", "/api/closed?code=c-key", headers={"x-functions-key": "wrong"}).status == 401


def test_admin_level_opens_to_the_master_key_only(host: HostProcess) -> None:
    assert host.request("GET", "/api/operators", headers={"x-functions-key": "m-key"}).status == 200
    assert host.request("GET", "/api/operators", headers={"x-functions-key": "d-key"}).status == 401


@pytest.mark.parametrize("key", ["", "wrong"])
def test_anonymous_level_asks_for_no_key_and_minds_none(host: HostProcess, key: str) -> None:
    assert host.request("GET", "/api/anyone", headers={"x-functions-key": key}).status == 200


def test_a_refused_key_is_not_logged(host: HostProcess) -> None:
    host.request("GET", "/api/closed?code=guess-marker", headers={"x-functions-key": "other-marker"})
    assert "marker" not in host.wait_for_log("path='/api/closed' status=401")


def test_a_wrong_key_is_refused_before_the_body_is_read(host: HostProcess) -> None:
    answer = host.raw(
        b"POST /api/closed HTTP/1.1\r\nHost: h\r\nContent-Length: 50000000\r\nConnection: close\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 401 ")
