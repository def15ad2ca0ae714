"""The host's side of the worker library; what the library itself does is in tests/host."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from devhost.functions.context import TraceContext
from devhost.functions.convert import text
from devhost.functions.errors import StartError
from devhost.functions.worker.choice import WorkerKind, make_worker
from devhost.functions.worker.library import LibraryWorker
from devhost.functions.worker.protocol import Invocation


class Library(ModuleType):
    """Answers as the library does, and notes what it was asked."""

    def __init__(self, **capabilities: str) -> None:
        super().__init__("azure_functions_runtime")
        self.asked: list[str] = []
        self.capabilities = capabilities
        self.refusal: str | None = None
        self.functions: list[Any] | None = None

    def start_threadpool_executor(self) -> None:
        self.asked.append("start_threadpool_executor")

    async def worker_init_request(self, request: Any) -> Any:
        self.asked.append(request.request.worker_init_request.function_app_directory)
        error = SimpleNamespace(message=self.refusal)
        result = SimpleNamespace(status=0 if self.refusal else 1, exception=error)
        return SimpleNamespace(result=result, capabilities=self.capabilities)

    async def functions_metadata_request(self, _: Any) -> Any:
        return SimpleNamespace(function_metadata_results=self.functions)

    async def function_load_request(self, request: Any) -> None:
        self.asked.append(f"load {request.request.function_load_request.function_id}")

    async def invocation_request(self, request: Any) -> Any:
        asked = request.request.invocation_request
        value = SimpleNamespace(string=f"{asked.function_id} {asked.invocation_id}")
        value.WhichOneof = lambda _: "string"
        return SimpleNamespace(result=SimpleNamespace(status=1), return_value=value)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    library = Library()
    monkeypatch.setitem(sys.modules, library.__name__, library)
    return library


def test_where_the_library_is_missing_the_host_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "azure_functions_runtime", None)
    with pytest.raises(StartError, match=r"needs Python 3\.13 or newer with the package azure-functions-ru"):
        make_worker(WorkerKind.LIBRARY)


async def test_indexing_starts_the_threads_and_loads_every_function(library: Library) -> None:
    function: dict[str, Any] = {"name": "fn", "raw_bindings": [], "retry_options": None}
    library.functions = [SimpleNamespace(function_id=each, **function) for each in ("one", "two")]
    indexed = await LibraryWorker().index(Path("/app"))
    assert [each.id for each in indexed] == ["one", "two"]
    assert library.asked == ["start_threadpool_executor", "/app", "load one", "load two"]


async def test_an_app_without_functions_has_none(library: Library) -> None:
    assert await LibraryWorker().index(Path("/app")) == []


async def test_a_refused_app_is_refused_in_the_library_s_words(library: Library) -> None:
    library.refusal = "ValueError: no app"
    with pytest.raises(StartError, match=r"^ValueError: no app$"):
        await LibraryWorker().index(Path("/app"))


async def test_http_streaming_is_refused(library: Library) -> None:
    library.capabilities["HttpUri"] = "http://127.0.0.1:1"
    with pytest.raises(StartError, match="HTTP streaming"):
        await LibraryWorker().index(Path("/app"))


async def test_an_invocation_comes_back_as_a_result(library: Library) -> None:
    invocation = Invocation("i", "f", "msg", text("x"), {}, TraceContext("", ""))
    assert await LibraryWorker().invoke(invocation) == "f i"
