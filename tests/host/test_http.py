"""HTTP functions on a real host: what of a request reaches a function, and what of its result goes out."""

import gzip
import http.client
import json
from collections.abc import Iterator

import pytest

from tests.host.harness import PATIENCE_SECONDS, HostProcess, write_app

pytestmark = pytest.mark.host

APP = """
import asyncio, json, threading, time

def seen(req):
    return func.HttpResponse(json.dumps({
        "method": req.method, "url": req.url, "headers": dict(req.headers), "params": dict(req.params),
        "route": dict(req.route_params), "body": req.get_body().hex(),
    }), mimetype="application/json")

@app.route(route="echo/{*rest}")
async def echo(req: func.HttpRequest) -> func.HttpResponse:
    return seen(req)

@app.route(route="items/{id:int}/{name?}", methods=["GET"])
def items(req: func.HttpRequest) -> func.HttpResponse:
    return seen(req)

@app.route(route="only-post", methods=["POST"])
def only_post(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(status_code=202)

@app.route(route="pick/{anything}")
def a_first(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("a_first")

@app.route(route="pick/literal")
def b_second(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("b_second")

@app.route(route="boom")
async def boom(req: func.HttpRequest) -> func.HttpResponse:
    raise ValueError("planned failure")

@app.route(route="text")
def text(req: func.HttpRequest) -> str:
    return "plain"

@app.route(route="nothing")
def nothing(req: func.HttpRequest):
    return None

@app.route(route="cookies")
def cookies(req: func.HttpRequest) -> func.HttpResponse:
    answer = func.HttpResponse("x", headers={"X-Own": "yes"})
    answer.headers.add("Set-Cookie", "a=1; Path=/; HttpOnly")
    answer.headers.add("Set-Cookie", "b=2")
    return answer

@app.route(route="context")
async def context(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    return func.HttpResponse(json.dumps({
        "name": context.function_name, "id": context.invocation_id, "folder": context.function_directory,
        "traceparent": context.trace_context.trace_parent, "tracestate": context.trace_context.trace_state,
        "retries": context.retry_context.retry_count,
    }))

@app.route(route="where/{kind}")
async def where_async(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(threading.current_thread().name)

@app.route(route="sync-where")
def where_sync(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(threading.current_thread().name)

"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    folder = tmp_path_factory.mktemp("http")
    with HostProcess(write_app(folder, APP)) as running:
        yield running


def test_the_body_reaches_the_function_byte_for_byte(host: HostProcess) -> None:
    body = bytes(range(256))
    seen = host.request("POST", "/api/echo/x", body, {"Content-Type": "application/json"}).json()
    assert bytes.fromhex(seen["body"]) == body


def test_a_compressed_body_stays_compressed(host: HostProcess) -> None:
    body = gzip.compress(b"signed as sent", mtime=0)
    seen = host.request("POST", "/api/echo/x", body, {"Content-Encoding": "gzip"}).json()
    assert bytes.fromhex(seen["body"]) == body


def test_a_chunked_body_arrives_empty(host: HostProcess) -> None:
    seen = host.request("POST", "/api/echo/x", iter([b"some ", b"data"]), encode_chunked=True).json()
    assert seen["headers"]["transfer-encoding"] == "chunked"
    assert seen["body"] == ""


def test_header_names_are_lower_case_and_repeated_headers_joined_by_a_comma(host: HostProcess) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=PATIENCE_SECONDS)
    connection.putrequest("GET", "/api/echo/x")
    for value in ("one", "two"):
        connection.putheader("X-Twice", value)
    connection.endheaders()
    seen = json.loads(connection.getresponse().read())
    connection.close()
    assert seen["headers"]["x-twice"] == "one,two"


def test_repeated_query_keys_are_joined_and_empty_values_dropped(host: HostProcess) -> None:
    seen = host.request("GET", "/api/echo/x?a=1&a=2&b=&c=3+4&d").json()
    assert seen["params"] == {"a": "1,2", "c": "3 4"}


def test_the_url_is_rebuilt_from_host_path_and_query(host: HostProcess) -> None:
    seen = host.request("GET", "/api/echo/a%20b?q=%41&q=", headers={"Host": "hooks.example:81"}).json()
    assert seen["url"] == "http://hooks.example:81/api/echo/a%20b?q=%41&q="


def test_the_first_x_forwarded_proto_decides_the_scheme(host: HostProcess) -> None:
    seen = host.request("GET", "/api/echo/x", headers={"X-Forwarded-Proto": "https, http"}).json()
    assert seen["url"] == f"https://127.0.0.1:{host.port}/api/echo/x"


def test_route_values_are_decoded_text_and_optional_ones_absent(host: HostProcess) -> None:
    assert host.request("GET", "/api/items/7").json()["route"] == {"id": "7"}
    assert host.request("GET", "/API/Items/7/a%20b").json()["route"] == {"id": "7", "name": "a b"}


def test_a_catch_all_takes_the_rest_of_the_path(host: HostProcess) -> None:
    assert host.request("GET", "/api/echo/one/two").json()["route"] == {"rest": "one/two"}
    assert host.request("GET", "/api/echo").json()["route"] == {}


def test_a_route_constraint_that_fails_is_404(host: HostProcess) -> None:
    assert host.request("GET", "/api/items/seven").status == 404


def test_an_unknown_route_is_404_with_an_empty_body(host: HostProcess) -> None:
    answer = host.request("GET", "/api/nowhere")
    assert (answer.status, answer.body) == (404, b"")


def test_a_wrong_method_is_404(host: HostProcess) -> None:
    assert host.request("GET", "/api/only-post").status == 404


def test_options_reaches_a_function_only_if_its_methods_allow_it(host: HostProcess) -> None:
    assert host.request("OPTIONS", "/api/only-post").status == 404
    assert host.request("OPTIONS", "/api/echo/x").json()["method"] == "OPTIONS"


def test_head_is_answered_without_a_body(host: HostProcess) -> None:
    answer = host.request("HEAD", "/api/echo/x")
    assert (answer.status, answer.body) == (200, b"")


def test_of_two_routes_that_match_the_function_first_by_name_answers(host: HostProcess) -> None:
    assert host.request("GET", "/api/pick/literal").body == b"a_first"


def test_the_paths_of_the_host_itself_are_404(host: HostProcess) -> None:
    assert host.request("GET", "/admin/host/status").status == 404
    assert host.request("GET", "/runtime/webhooks/x").status == 404


def test_an_unhandled_exception_is_500_with_an_empty_body(host: HostProcess) -> None:
    answer = host.request("GET", "/api/boom")
    assert (answer.status, answer.body) == (500, b"")
    host.wait_for_log("ValueError: planned failure")


def test_a_str_result_is_text(host: HostProcess) -> None:
    answer = host.request("GET", "/api/text")
    assert (answer.status, answer.body) == (200, b"plain")
    assert answer.header("Content-Type") == "text/plain; charset=utf-8"


def test_a_result_the_http_binding_cannot_take_is_500(host: HostProcess) -> None:
    answer = host.request("GET", "/api/nothing")
    assert (answer.status, answer.body) == (500, b"")


def test_own_headers_and_several_cookies_go_out(host: HostProcess) -> None:
    answer = host.request("GET", "/api/cookies")
    cookies = [value for name, value in answer.headers if name == "Set-Cookie"]
    assert answer.header("X-Own") == "yes"
    assert sorted(cookie.split(";")[0] for cookie in cookies) == ["a=1", "b=2"]


def test_a_context_parameter_knows_the_function_and_continues_the_trace(host: HostProcess) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01", "tracestate": "k=v"}
    seen = host.request("GET", "/api/context", headers=headers).json()
    assert seen["name"] == "context"
    assert seen["folder"] == str(host.app)
    assert seen["traceparent"].startswith(f"00-{trace}-")
    assert "b7ad6b7169203331" not in seen["traceparent"]
    assert (seen["tracestate"], seen["retries"]) == ("k=v", 0)


def test_async_functions_run_on_the_loop_and_sync_ones_in_a_pool(host: HostProcess) -> None:
    assert host.request("GET", "/api/where/x").body == b"MainThread"
    assert host.request("GET", "/api/sync-where").body.startswith(b"ThreadPoolExecutor-")
