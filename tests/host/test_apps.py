"""Apps made in other ways: blueprints, ASGI, WSGI, several at work on one loop; what belongs to the host."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.host.harness import HostProcess, start_fails, write_app

pytestmark = pytest.mark.host

AT_ROOT = {"extensions": {"http": {"routePrefix": ""}}}


def test_the_functions_of_a_blueprint_are_the_app_s(tmp_path: Path) -> None:
    source = """
from beside import blueprint

app.register_functions(blueprint)
"""
    app = write_app(tmp_path, source)
    (app / "beside.py").write_text(
        """
import azure.functions as func

blueprint = func.Blueprint()

@blueprint.route(route="blue", auth_level=func.AuthLevel.ANONYMOUS)
def blue(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("blue")
""",
        encoding="utf-8",
    )
    with HostProcess(app) as host:
        assert host.request("GET", "/api/blue").body == b"blue"


def test_a_wsgi_app_is_served_by_one_catch_all_function(tmp_path: Path) -> None:
    source = """
def wsgi(environ, start_response):
    start_response("201 Created", [("Content-Type", "text/plain"), ("X-Query", environ["QUERY_STRING"])])
    return [environ["PATH_INFO"].encode(), environ["wsgi.input"].read()]

app = func.WsgiFunctionApp(app=wsgi, http_auth_level=func.AuthLevel.ANONYMOUS)
"""
    with HostProcess(write_app(tmp_path, source, host_json=AT_ROOT)) as host:
        answer = host.request("POST", "/any/path?a=1", b"+body")
        assert (answer.status, answer.body) == (201, b"/any/path+body")
        assert answer.header("X-Query") == "a=1"


def test_a_timer_may_stand_beside_an_asgi_app(tmp_path: Path) -> None:
    source = """
async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        await send({"type": "lifespan.startup.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"page"})

app = func.AsgiFunctionApp(app=asgi, http_auth_level=func.AuthLevel.ANONYMOUS)

@app.timer_trigger(arg_name="timer", schedule="0 0 0 1 1 *", run_on_startup=True)
def tick(timer: func.TimerRequest) -> None:
    print("tick ran", flush=True)
"""
    with HostProcess(write_app(tmp_path, source, host_json=AT_ROOT)) as host:
        host.wait_for_log("tick ran")
        assert host.request("GET", "/x").body == b"page"


def test_an_async_function_that_blocks_stalls_all_others_and_a_sync_one_does_not(tmp_path: Path) -> None:
    source = """
import os, time

at_work = []

@app.route(route="block")
async def block(req: func.HttpRequest) -> func.HttpResponse:
    at_work.append("block")
    print("block has begun", flush=True)
    time.sleep(1.5)
    at_work.remove("block")
    return func.HttpResponse("done")

@app.route(route="wait")
def wait(req: func.HttpRequest) -> func.HttpResponse:
    at_work.append("wait")
    print("wait has begun", flush=True)
    while not os.path.exists("let-go"):
        time.sleep(0.01)
    at_work.remove("wait")
    return func.HttpResponse("done")

@app.route(route="who")
async def who(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(",".join(at_work))
"""

    with HostProcess(write_app(tmp_path, source)) as host:
        for function, meanwhile in (("wait", b"wait"), ("block", b"")):
            running = threading.Thread(target=host.request, args=("GET", f"/api/{function}"))
            running.start()
            host.wait_for_log(f"{function} has begun")
            # While it waits, the sync function leaves the loop to others; the async one is over by then.
            assert host.request("GET", "/api/who").body == meanwhile
            (tmp_path / "let-go").touch()
            running.join()


def test_sync_functions_run_side_by_side_as_many_as_the_setting_says(tmp_path: Path) -> None:
    source = """
import os, threading

gate = threading.Barrier(2)

@app.route(route="meet")
def meet(req: func.HttpRequest) -> func.HttpResponse:
    try:
        gate.wait(float(os.environ["MEETING_SECONDS"]))
    except threading.BrokenBarrierError:
        return func.HttpResponse("alone")
    return func.HttpResponse("together")
"""
    for threads, seconds, expected in (("2", "60", {b"together"}), ("1", "1", {b"alone"})):
        values = {"PYTHON_THREADPOOL_THREAD_COUNT": threads, "MEETING_SECONDS": seconds}
        app = write_app(tmp_path / threads, source, values=values)
        with HostProcess(app) as host, ThreadPoolExecutor(2) as callers:
            answers = callers.map(lambda target, host=host: host.request("GET", target), ["/api/meet"] * 2)
            assert {answer.body for answer in answers} == expected


@pytest.mark.parametrize("head", ["async def", "def"])
def test_what_a_run_sets_in_its_context_is_not_there_in_the_next(tmp_path: Path, head: str) -> None:
    source = f"""
import contextvars

mark = contextvars.ContextVar("mark", default="unset")

@app.route(route="mark")
{head} read_mark(req: func.HttpRequest) -> func.HttpResponse:
    before = mark.get()
    mark.set("set")
    return func.HttpResponse(before)
"""
    with HostProcess(write_app(tmp_path, source, values={"PYTHON_THREADPOOL_THREAD_COUNT": "2"})) as host:
        assert host.request("GET", "/api/mark").body == b"unset"


def test_a_sync_function_sees_nothing_of_the_loop_s_context(tmp_path: Path) -> None:
    source = """
import asyncio, contextvars

@app.route(route="seen")
def seen(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(",".join(variable.name for variable in contextvars.copy_context()))
"""
    with HostProcess(write_app(tmp_path, source)) as host:
        # Azure's library sets one of its own in the thread, for the logging there.
        assert host.request("GET", "/api/seen").body in (b"", b"invocation_id")


@pytest.mark.parametrize(
    "path", ["/admin/host/status", "/admin/functions/x", "/runtime/webhooks/x", "/ADMIN"]
)
def test_a_catch_all_at_the_root_does_not_get_the_host_s_own_paths(tmp_path: Path, path: str) -> None:
    source = """
@app.route(route="{*rest}")
def anything(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("caught")
"""
    with HostProcess(write_app(tmp_path, source, host_json=AT_ROOT)) as host:
        assert host.request("GET", path).status == 404
        assert host.request("GET", "/administrators").body == b"caught"


@pytest.mark.parametrize(
    ("decorator", "parameter", "sentence"),
    [
        (
            '@app.service_bus_queue_output(arg_name="out", queue_name="q", connection="C")',
            "out: func.Out[str]",
            "the binding type(s) 'serviceBus' are not registered",
        ),
        (
            '@app.blob_input(arg_name="blob", path="c/n", connection="C")',
            "blob: str",
            "the binding type(s) 'blob' are not registered",
        ),
    ],
)
def test_output_and_input_bindings_are_refused_with_what_there_is(
    tmp_path: Path, decorator: str, parameter: str, sentence: str
) -> None:
    source = f"""
@app.route(route="x")
{decorator}
def fn(req: func.HttpRequest, {parameter}) -> func.HttpResponse: ...
"""
    log = start_fails(write_app(tmp_path, source))
    assert "cannot load the fn function" in log
    assert sentence in log
    assert "this host has httpTrigger, serviceBusTrigger, timerTrigger, http" in log


def test_an_http_answer_through_a_parameter_is_refused(tmp_path: Path) -> None:
    source = """
@app.route(route="x", binding_arg_name="answer")
def fn(req: func.HttpRequest, answer: func.Out[func.HttpResponse]) -> None: ...
"""
    log = start_fails(write_app(tmp_path, source))
    assert "the output parameter 'answer' is not supported by this host; return the answer" in log


def test_a_name_the_platform_does_not_take_does_not_start(tmp_path: Path) -> None:
    source = """
@app.function_name("1st")
@app.route(route="x")
def fn(req: func.HttpRequest) -> func.HttpResponse: ...
"""
    assert "'1st' is not a valid function name" in start_fails(write_app(tmp_path, source))


def test_two_names_that_differ_in_case_only_do_not_start(tmp_path: Path) -> None:
    source = """
@app.route(route="x")
def fn(req: func.HttpRequest) -> func.HttpResponse: ...

@app.route(route="y")
def FN(req: func.HttpRequest) -> func.HttpResponse: ...
"""
    log = start_fails(write_app(tmp_path, source))
    assert "the names 'fn' and 'FN' differ in case only" in log
