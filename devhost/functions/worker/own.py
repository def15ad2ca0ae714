"""The host's own worker: the rules of the Python worker library, on every Python that the app supports.

Source: `invocation_request` in the PyPI package azure-functions-runtime.
"""

import asyncio
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from devhost.functions.definitions import script_name
from devhost.functions.log import host_log
from devhost.functions.worker.context import InvocationContext, WorkerTraceContext, retry_context
from devhost.functions.worker.conversion import decode, encode
from devhost.functions.worker.failures import failed
from devhost.functions.worker.indexing import LoadedFunction, index_app
from devhost.functions.worker.protocol import IndexedFunction, Invocation, Result

_local = threading.local()


class OwnWorker:
    """Implements `Worker`."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._pool = ThreadPoolExecutor(thread_count(environment))
        self._functions: dict[str, LoadedFunction] = {}

    async def index(self, app: Path) -> list[IndexedFunction]:  # noqa: ARG002 - the app is found on sys.path
        """The app's functions; see `Worker.index`."""
        found = index_app(script_name(self._environment))
        for indexed, loaded in found:
            self.add(indexed.id, loaded)
        return [indexed for indexed, _ in found]

    def add(self, function_id: str, function: LoadedFunction) -> None:
        """Make a function known."""
        self._functions[function_id] = function

    async def invoke(self, invocation: Invocation) -> Result:
        """Run a function; see `Worker.invoke`."""
        function = self._functions[invocation.function_id]
        try:
            value = await self._call(function, invocation)
            return _result(function, value)
        except Exception as error:
            raise failed(error) from error

    async def _call(self, function: LoadedFunction, invocation: Invocation) -> Any:
        context = InvocationContext(
            function_name=function.name,
            function_directory=function.directory,
            invocation_id=invocation.id,
            thread_local_storage=_local,
            trace_context=WorkerTraceContext(invocation.trace),
            retry_context=retry_context(invocation.retry),
        )
        kind = function.converters[invocation.parameter]
        arguments = {invocation.parameter: decode(kind, invocation.data, invocation.metadata)}
        _local.invocation_id = invocation.id
        if function.requires_context:
            arguments["context"] = context
        if function.is_async:
            return await function.call(**arguments)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, _run_sync, function, arguments, invocation.id)


def _result(function: LoadedFunction, value: object) -> Result:
    if function.return_binding is not None:
        return encode(function.return_binding, value, function.return_type)
    if value is not None:  # the worker does not format it either
        raise RuntimeError(
            "function %s without a $return bindingreturned a non-None value", repr(function.name)
        )
    return None


def _run_sync(function: LoadedFunction, arguments: Mapping[str, Any], invocation_id: str) -> Any:
    _local.invocation_id = invocation_id
    try:
        return function.call(**arguments)
    finally:
        _local.invocation_id = None


def thread_count(environment: Mapping[str, str]) -> int | None:
    """`PYTHON_THREADPOOL_THREAD_COUNT`, at least 1; otherwise Python's own default."""
    given = environment.get("PYTHON_THREADPOOL_THREAD_COUNT")
    if given is None:
        return None
    try:
        count = int(given)
    except ValueError:
        count = 0
    if count < 1:
        host_log.warning("event=setting_ignored setting=PYTHON_THREADPOOL_THREAD_COUNT reason=no_count")
        return None
    return count
