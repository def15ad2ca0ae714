"""What keeps a host from starting: exit code 1 and a sentence that says what is wrong."""

import json
from pathlib import Path

import pytest

from devhost.functions.worker.choice import WorkerKind
from tests.host.harness import HostProcess, start_fails, write_app
from tests.support import host_worker

pytestmark = pytest.mark.host

HELLO = """
@app.route(route="hello")
def hello(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("hello")
"""


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        pytest.param(
            HELLO + HELLO.replace('"hello"', '"other"'),
            "Function hello does not have a unique function name",
            id="duplicate name",
        ),
        pytest.param(
            """
@app.route(route="x")
def fn(req: func.HttpRequest, extra: str) -> func.HttpResponse: ...
""",
            "cannot load the fn function: the following parameters are declared in Python but not in the",
            id="parameter without binding",
        ),
        pytest.param(
            """
@app.route(route="x")
def fn() -> func.HttpResponse: ...
""",
            "cannot load the fn function: Extra parameters in binding definition",
            id="binding without parameter",
        ),
        pytest.param(
            """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="q", connection="C")
def fn(msg: func.HttpRequest) -> None: ...
""",
            'binding type "\'msg\'" and dataType "serviceBusTrigger" in the binding decorator do not match '
            "the corresponding function parameter's Python type annotation HttpRequest",
            id="wrong annotation",
        ),
        pytest.param(
            """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="q", connection="C")
def fn(msg: list[func.ServiceBusMessage]) -> None: ...
""",
            "binding msg has invalid non-type annotation",
            id="list of messages",
        ),
        pytest.param(
            """
@app.route(route="x")
def fn(req: func.HttpRequest, context: str) -> func.HttpResponse: ...
""",
            'the "context" parameter is expected to be of type azure.functions.Context',
            id="wrong context",
        ),
        pytest.param(
            """
@app.route(route="x")
def fn(req: func.HttpRequest) -> int: ...
""",
            'Python return annotation "int" does not match binding type "http"',
            id="wrong return",
        ),
        pytest.param(
            """
@app.route(route="administrators")
def fn(req: func.HttpRequest) -> func.HttpResponse: ...
""",
            "The specified route conflicts with one or more built in routes.",
            id="reserved route",
        ),
        pytest.param(
            HELLO
            + """
@app.route(route="Hello", methods=["GET"])
def other(req: func.HttpRequest) -> func.HttpResponse: ...
""",
            "The route specified conflicts with the route defined by function 'hello'.",
            id="same route",
        ),
        pytest.param(
            """
@app.route(route="x/{id:nonsense}")
def fn(req: func.HttpRequest) -> func.HttpResponse: ...
""",
            "the route constraint 'nonsense' is unknown",
            id="unknown constraint",
        ),
        pytest.param(
            """
@app.blob_trigger(arg_name="blob", path="c/{n}", connection="C")
def fn(blob: func.InputStream) -> None: ...
""",
            "the binding type(s) 'blobTrigger' are not registered",
            id="trigger this host has not",
        ),
        pytest.param(
            "import no_such_module_here\n", "No module named 'no_such_module_here'", id="missing module"
        ),
        pytest.param(
            "raise ZeroDivisionError('at import')\n", "ZeroDivisionError: at import", id="import fails"
        ),
        pytest.param("", "0 functions found", id="no functions"),
        pytest.param("second = func.FunctionApp()\n", "More than one FunctionApp", id="two apps"),
        pytest.param("del app\n", "Could not find top level function app instances", id="no app"),
    ],
)
def test_a_faulty_app_does_not_start(tmp_path: Path, source: str, sentence: str) -> None:
    assert sentence in start_fails(write_app(tmp_path, source))


@pytest.mark.skipif(
    host_worker.chosen() is WorkerKind.LIBRARY, reason="the library stops at the first that does not load"
)
def test_the_line_that_fails_at_import_is_shown(tmp_path: Path) -> None:
    log = start_fails(write_app(tmp_path, "shelf = {}\nshelf['cup']\n"))
    assert "KeyError: 'cup'" in log
    assert f'File "{tmp_path}/function_app.py", line 6' in log


def test_an_app_that_exits_at_import_does_not_start(tmp_path: Path) -> None:
    log = start_fails(write_app(tmp_path, "raise SystemExit(0)\n"))
    assert "function_app.py ended the process when it was imported (SystemExit: 0)" in log


def test_every_faulty_function_is_named_at_once(tmp_path: Path) -> None:
    source = """
@app.route(route="x")
def first(req: int) -> func.HttpResponse: ...

@app.route(route="y")
def second(request: func.HttpRequest) -> func.HttpResponse: ...
"""
    log = start_fails(write_app(tmp_path, source))
    assert "cannot load the first function" in log
    assert "cannot load the second function" in log


def test_a_missing_setting_in_a_binding_does_not_start(tmp_path: Path) -> None:
    source = """
@app.timer_trigger(arg_name="timer", schedule="%NO_SUCH_SCHEDULE%")
def fn(timer: func.TimerRequest) -> None: ...
"""
    assert "'%NO_SUCH_SCHEDULE%' does not resolve to a value" in start_fails(write_app(tmp_path, source))


def test_a_folder_without_an_app_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text('{"version": "2.0"}', encoding="utf-8")
    assert "function_app.py does not exist" in start_fails(tmp_path)


def test_every_problem_of_host_json_is_named(tmp_path: Path) -> None:
    app = write_app(tmp_path, HELLO, host_json={"version": "1.0", "functionTimeout": "soon"})
    log = start_fails(app)
    assert "'version' property must be \"2.0\"" in log
    assert 'functionTimeout: expected a TimeSpan such as 00:05:00, found "soon"' in log


def test_a_settings_file_that_was_named_must_exist(tmp_path: Path) -> None:
    assert "absent.json: cannot be read" in start_fails(
        write_app(tmp_path, HELLO), "--settings", str(tmp_path / "absent.json")
    )


def test_a_taken_port_does_not_start(tmp_path: Path) -> None:
    app = write_app(tmp_path, HELLO)
    with HostProcess(app) as running:
        assert f"port {running.port} cannot be used" in start_fails(app, "--port", str(running.port))


def test_a_plugin_that_cannot_be_imported_does_not_start(tmp_path: Path) -> None:
    assert "--plugin no_such_plugin" in start_fails(write_app(tmp_path, HELLO), "--plugin", "no_such_plugin")


def test_a_plugin_is_installed_before_the_app_is_imported(tmp_path: Path) -> None:
    source = """
import builtins

@app.route(route="mark")
def mark(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(MARK)

MARK = builtins.host_test_mark
"""
    app = write_app(tmp_path / "app", source)
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "marking_plugin.py").write_text(
        "import builtins\n\ndef install():\n    builtins.host_test_mark = 'installed'\n", encoding="utf-8"
    )
    with HostProcess(app, ("--plugin", "marking_plugin"), {"PYTHONPATH": str(plugins)}) as host:
        assert host.request("GET", "/api/mark").body == b"installed"


def test_settings_values_win_over_the_environment_and_the_rest_stays(tmp_path: Path) -> None:
    source = """
import os

@app.route(route="env")
def env(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(f"{os.environ['FROM_BOTH']} {os.environ['FROM_OUTSIDE']}")
"""
    app = write_app(tmp_path, source, values={"FROM_BOTH": "file"})
    with HostProcess(app, environment={"FROM_BOTH": "outside", "FROM_OUTSIDE": "kept"}) as host:
        assert host.request("GET", "/api/env").body == b"file kept"


def test_keys_are_made_up_and_printed_when_none_are_given(tmp_path: Path) -> None:
    with HostProcess(
        write_app(tmp_path, HELLO.replace('"hello")', '"hello", auth_level="FUNCTION")', 1))
    ) as host:
        keys = host.ready["keys"]
        assert host.request("GET", "/api/hello").status == 401
        assert (
            host.request("GET", "/api/hello", headers={"x-functions-key": keys["functions"]["hello"]}).status
            == 200
        )
        assert keys["master"] not in host.log()


def test_an_empty_route_prefix_puts_routes_at_the_root(tmp_path: Path) -> None:
    app = write_app(tmp_path, HELLO, host_json={"extensions": {"http": {"routePrefix": ""}}})
    with HostProcess(app) as host:
        assert host.request("GET", "/hello").body == b"hello"


def test_a_disabled_function_is_404(tmp_path: Path) -> None:
    other = HELLO.replace("hello", "other")
    app = write_app(tmp_path, HELLO + other, values={"AzureWebJobs.hello.Disabled": "true"})
    with HostProcess(app) as host:
        assert host.request("GET", "/api/hello").status == 404
        assert host.request("GET", "/api/other").status == 200


def test_the_app_runs_in_its_own_folder_with_its_modules_importable(tmp_path: Path) -> None:
    source = """
import os
import beside

@app.route(route="where")
def where(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(os.getcwd() + beside.MARK)
"""
    app = write_app(tmp_path, source)
    (app / "beside.py").write_text("MARK = '!'\n", encoding="utf-8")
    with HostProcess(app) as host:
        assert host.request("GET", "/api/where").body.decode() == f"{app}!"


def test_what_the_app_prints_does_not_disturb_standard_output(tmp_path: Path) -> None:
    with HostProcess(write_app(tmp_path, HELLO + "print('printed at import')\n")) as host:
        assert host.ready["pid"] == host.process.pid
        host.wait_for_log("printed at import")


def test_a_keys_file_without_a_master_key_does_not_start(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"functions": {}}), encoding="utf-8")
    assert 'expected {"master"' in start_fails(write_app(tmp_path / "app", HELLO), "--keys", str(keys))


def test_an_asgi_app_is_served_by_one_catch_all_function(tmp_path: Path) -> None:
    source = """
async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        await send({"type": "lifespan.startup.complete"})
        return
    await send({"type": "http.response.start", "status": 201, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": scope["path"].encode()})

app = func.AsgiFunctionApp(app=asgi, http_auth_level=func.AuthLevel.ANONYMOUS)
"""
    app = write_app(tmp_path, source, host_json={"extensions": {"http": {"routePrefix": ""}}})
    with HostProcess(app) as host:
        answer = host.request("GET", "/any/path")
        assert (answer.status, answer.body) == (201, b"/any/path")
