"""Azure's own worker library, `azure-functions-runtime`: it indexes and invokes, the host plays its partner.

In Azure a proxy worker sits between the two and only moves the messages through gRPC. Source:
https://github.com/Azure/azure-functions-python-worker, `workers/proxy_worker/dispatcher.py`
"""

import importlib
import platform
import sys
from pathlib import Path
from typing import Any

from devhost.functions.errors import StartError
from devhost.functions.worker import rpc
from devhost.functions.worker.protocol import IndexedFunction, Invocation, Result

_PACKAGE = "azure_functions_runtime"
_STREAMING = "HttpUri"


class LibraryWorker:
    """Implements `Worker`. One in a process: the library keeps the app in its module."""

    def __init__(self) -> None:
        """Raises StartError where the library cannot be imported."""
        try:
            self._library: Any = importlib.import_module(_PACKAGE)
        except ImportError as error:
            raise StartError(
                "the worker library needs Python 3.13 or newer with the package azure-functions-runtime; "
                f"this is Python {platform.python_version()} ({sys.executable}): {error}"
            ) from error
        self._protos = rpc.Protos()

    async def index(self, app: Path) -> list[IndexedFunction]:
        """The app's functions; see `Worker.index`."""
        self._library.start_threadpool_executor()
        begun = await self._ask("worker_init_request", capabilities={}, function_app_directory=str(app))
        if begun.result.status != rpc.StatusResult.Success:
            raise StartError(begun.result.exception.message)
        if _STREAMING in begun.capabilities:
            raise StartError("HTTP streaming (azurefunctions-extensions-http-fastapi) is not supported here")
        answer = await self._ask("functions_metadata_request")
        found = answer.function_metadata_results or []
        for function in found:
            await self._ask("function_load_request", function_id=function.function_id)
        return [rpc.indexed_function(function) for function in found]

    async def invoke(self, invocation: Invocation) -> Result:
        """Run a function; see `Worker.invoke`."""
        answer = await self._ask("invocation_request", **rpc.invocation_fields(invocation))
        return rpc.result_of(answer)

    async def _ask(self, kind: str, **fields: Any) -> Any:
        """One request; the library has a function of each request's name."""
        return await getattr(self._library, kind)(rpc.envelope(kind, self._protos, **fields))
