"""`function_app.py` itself: it imports anywhere and fast, and knows nothing but the application."""

import os
import subprocess
import sys
from pathlib import Path

import azure.functions as func
import pytest
from azure.functions.http import HttpResponseConverter

import function_app
from devhost.paths import ROOT
from shared.http.exchange import HttpAnswer, HttpRequest
from tests.support.source_code import imports, strings, uses_of_failpoints

APP = ROOT / "function_app.py"
SHARED = sorted((ROOT / "shared").rglob("*.py"))
SLOW_TO_IMPORT = (
    "azure.servicebus",
    "azure.data.tables",
    "azure.storage",
    "azure.identity",
    "azure.core",
    "aiohttp",
    "pypdf",
    "openai",
    "pydantic",
    "jmespath",
)


def in_a_fresh_interpreter(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `code` with the app's folder as the only one of ours on the path, and no setting at all."""
    return subprocess.run(
        [sys.executable, *options, "-W", "error", "-c", code],
        cwd=ROOT,
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=160,
        check=False,
    )


@pytest.mark.parametrize("options", [(), ("-O",), ("-OO",)], ids=["plain", "-O", "-OO"])
def test_it_imports_without_any_setting(options: tuple[str, ...]) -> None:
    code = "import function_app; print(len(function_app.app.get_functions()))"
    imported = in_a_fresh_interpreter(code, *options)
    assert imported.returncode == 0, imported.stderr
    assert int(imported.stdout) > 0


@pytest.mark.parametrize("options", [(), ("-OO",)], ids=["plain", "-OO"])
def test_every_module_of_the_application_imports_without_any_setting(options: tuple[str, ...]) -> None:
    code = "import importlib\n" + "".join(
        f"importlib.import_module({name!r})\n" for name in map(module_name, SHARED)
    )
    imported = in_a_fresh_interpreter(code, *options)
    assert imported.returncode == 0, imported.stderr


def test_a_cold_start_imports_nothing_that_is_slow_to_import() -> None:
    imported = in_a_fresh_interpreter("import sys, function_app; print(*sys.modules, sep='\\n')")
    assert imported.returncode == 0, imported.stderr
    loaded = set(imported.stdout.split())
    assert {"function_app", "shared.bootstrap", "azure.functions"} <= loaded
    assert loaded_of(loaded, SLOW_TO_IMPORT) == []


def test_a_slow_import_would_be_seen() -> None:
    loaded = in_a_fresh_interpreter("import sys, azure.servicebus.aio; print(*sys.modules, sep='\\n')")
    assert "azure.servicebus" in loaded_of(set(loaded.stdout.split()), SLOW_TO_IMPORT)


def loaded_of(loaded: set[str], unwanted: tuple[str, ...]) -> list[str]:
    return [name for name in unwanted if name in loaded]


@pytest.mark.parametrize("given", ["text/plain; charset=utf-8", "text/markdown", "application/problem+json"])
async def test_the_media_type_of_an_answer_is_sent_as_it_is(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def application() -> object:
        return object()

    async def call(_built: object, _request: HttpRequest) -> HttpAnswer:
        return HttpAnswer(status=200, body=b"x", content_type=given, headers={"Allow": "POST"})

    monkeypatch.setattr(function_app, "application", application)
    answer = await function_app._answer(func.HttpRequest("GET", "/", body=b""), call)
    sent = HttpResponseConverter.encode(answer, expected_type=None).value
    assert {name.lower(): header.value for name, header in sent["headers"].items()} == {
        "content-type": given,
        "allow": "POST",
    }


def test_it_imports_of_the_project_only_bootstrap_and_http() -> None:
    allowed = ("azure.functions", "shared.bootstrap", "shared.http.")
    found = [name for name in imports(APP.read_text(), at_run_time=True) if not is_standard(name)]
    assert found
    assert [name for name in found if not name.startswith(allowed)] == []


@pytest.mark.parametrize("file", [APP, *SHARED], ids=lambda file: file.relative_to(ROOT).as_posix())
def test_nothing_deployed_imports_the_local_stack_or_the_tests(file: Path) -> None:
    found = imports(file.read_text())
    assert [name for name in found if name.split(".")[0] in {"devhost", "tests", "dev"}] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import devhost.paths", ["devhost.paths"]),
        ("def f():\n    from devhost import paths", ["devhost.paths"]),
        ("import importlib\nimportlib.import_module('devhost.paths')", ["importlib", "devhost.paths"]),
        ("__import__('devhost')", ["devhost"]),
    ],
)
def test_every_way_to_import_is_seen(source: str, found: list[str]) -> None:
    assert list(imports(source)) == found


def test_nothing_deployed_installs_a_failpoint_hook() -> None:
    callers = [file.name for file in [APP, *SHARED] if "install" in uses_of_failpoints(file.read_text())]
    assert callers == []


@pytest.mark.parametrize(
    "source",
    [
        "from shared import failpoints\nfailpoints.install(print)",
        "import shared.failpoints\nshared.failpoints.install(print)",
        "from shared.failpoints import install as put\nput(print)",
        "from shared import failpoints as points\nget = points.install",
        "from shared import failpoints\ngetattr(failpoints, 'install')(print)",
    ],
)
def test_an_installed_hook_would_be_seen(source: str) -> None:
    assert "install" in uses_of_failpoints(source)


def test_with_the_app_imported_and_built_no_hook_is_installed() -> None:
    code = (
        "import asyncio, function_app\n"
        "from shared import bootstrap, failpoints\n"
        "built = asyncio.run(bootstrap.application())\n"
        "print(type(built).__name__, failpoints._hook)"
    )
    settings = {
        "AzureWebJobsStorage": "UseDevelopmentStorage=true",
        "ServiceBusConnection": "Endpoint=sb://localhost;SharedAccessKeyName=any;SharedAccessKey=SAS_KEY_VALUE;"
        "UseDevelopmentEmulator=true;",
        "GITHUB_WEBHOOK_SECRET": "an invented secret of the tests",
        "EVENTS_WEBHOOK_SECRET": "whsec_" + "QUFB" * 10,
        "AFTERHOOK_FAILPOINTS_DIR": str(ROOT),
        "AFTERHOOK_FAILPOINTS": "1",
    }
    built = in_a_fresh_interpreter(f"import os\nos.environ.update({settings!r})\n{code}")
    assert built.stdout.split() == ["Application", "None"], built.stderr


def test_no_setting_of_the_application_is_about_failpoints() -> None:
    texts = [(file.name, text) for file in [APP, *SHARED] for text in strings(file.read_text())]
    assert any(text == "JOBS_QUEUE" for _, text in texts)
    assert [(name, text) for name, text in texts if "failpoint" in text.lower()] == []


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def is_standard(name: str) -> bool:
    return name.split(".")[0] in sys.stdlib_module_names
