"""Cross-origin requests, as `Host.CORS` of local.settings.json allows them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.harness import HostProcess, start_fails, write_app

pytestmark = pytest.mark.host

SHOP = "https://shop.example"
APP = """
@app.route(route="orders", methods=["POST"])
def orders(req: func.HttpRequest) -> func.HttpResponse:
    print("orders was called by", req.method, flush=True)
    return func.HttpResponse("taken", headers={"Access-Control-Allow-Origin": "https://own.example"})

@app.route(route="anything")
def anything(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(req.method)

@app.route(route="closed", auth_level=func.AuthLevel.FUNCTION)
def closed(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("open")
"""


def _app(folder: Path, **host: object) -> Path:
    app = write_app(folder, APP)
    settings = {"IsEncrypted": False, "Values": {}, "Host": host}
    (app / "local.settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return app


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    app = _app(tmp_path_factory.mktemp("cors"), CORS=f"{SHOP}, http://127.0.0.1:3000", CORSCredentials=True)
    with HostProcess(app) as running:
        yield running


def _granted(headers: list[tuple[str, str]]) -> dict[str, str]:
    return {name: value for name, value in headers if name.lower().startswith(("access-control", "vary"))}


def test_a_preflight_is_answered_before_the_code_and_its_methods(host: HostProcess) -> None:
    asked = {
        "Origin": SHOP,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type, x-own",
    }
    answer = host.request("OPTIONS", "/api/orders", headers=asked)
    assert (answer.status, answer.body) == (204, b"")
    assert _granted(answer.headers) == {
        "Access-Control-Allow-Origin": SHOP,
        "Access-Control-Allow-Credentials": "true",
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": "content-type, x-own",
        "Vary": "Origin",
    }
    assert host.request("POST", "/api/orders").status == 200
    assert "orders was called by OPTIONS" not in host.wait_for_log("orders was called by POST")


def test_a_preflight_needs_no_key(host: HostProcess) -> None:
    asked = {"Origin": SHOP, "Access-Control-Request-Method": "GET"}
    assert host.request("OPTIONS", "/api/closed", headers=asked).status == 204


def test_a_stranger_s_preflight_is_granted_nothing(host: HostProcess) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = host.request("OPTIONS", "/api/orders", headers=asked)
    assert (answer.status, _granted(answer.headers)) == (204, {})


def test_an_answer_is_readable_for_an_allowed_origin_whatever_the_code_says(host: HostProcess) -> None:
    answer = host.request("POST", "/api/orders", headers={"Origin": SHOP})
    assert answer.body == b"taken"
    assert _granted(answer.headers) == {
        "Access-Control-Allow-Origin": SHOP,
        "Access-Control-Allow-Credentials": "true",
        "Vary": "Origin",
    }


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://shop.example", "https://shop.example:444"]
)
def test_another_origin_gets_no_header(host: HostProcess, origin: str) -> None:
    answer = host.request("GET", "/api/anything", headers={"Origin": origin})
    assert (answer.status, _granted(answer.headers)) == (200, {})


def test_a_request_without_an_origin_gets_no_header(host: HostProcess) -> None:
    assert _granted(host.request("GET", "/api/anything").headers) == {}


def test_refusals_are_readable_too(host: HostProcess) -> None:
    for target, status in (("/api/closed", 401), ("/api/nowhere", 404)):
        answer = host.request("GET", target, headers={"Origin": SHOP})
        assert (answer.status, answer.header("Access-Control-Allow-Origin")) == (status, SHOP)


def test_options_that_is_no_preflight_goes_to_the_code(host: HostProcess) -> None:
    assert host.request("OPTIONS", "/api/anything", headers={"Origin": SHOP}).body == b"OPTIONS"
    assert host.request("OPTIONS", "/api/orders", headers={"Origin": SHOP}).status == 404


def test_a_star_allows_every_origin_and_no_credentials(tmp_path: Path) -> None:
    with HostProcess(_app(tmp_path, CORS="*")) as host:
        answer = host.request("GET", "/api/anything", headers={"Origin": "https://any.example"})
        assert _granted(answer.headers) == {"Access-Control-Allow-Origin": "*"}


def test_without_cors_a_preflight_goes_to_the_code(tmp_path: Path) -> None:
    asked = {"Origin": SHOP, "Access-Control-Request-Method": "POST"}
    with HostProcess(_app(tmp_path)) as host:
        assert host.request("OPTIONS", "/api/orders", headers=asked).status == 404
        answer = host.request("OPTIONS", "/api/anything", headers=asked)
        assert (answer.body, _granted(answer.headers)) == (b"OPTIONS", {})


def test_a_star_with_credentials_does_not_start(tmp_path: Path) -> None:
    log = start_fails(_app(tmp_path, CORS="*", CORSCredentials=True))
    assert '"*" must stand alone and cannot be combined with CORSCredentials' in log
