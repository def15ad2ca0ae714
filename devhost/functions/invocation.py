"""Run functions: async ones on the event loop, sync ones in a thread pool, each under `functionTimeout`."""

import asyncio
import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from devhost.functions.context import InvocationContext, TraceContext
from devhost.functions.definitions import FunctionDefinition
from devhost.functions.log import host_log
from devhost.functions.watchdog import Watchdog

WORKER_DIED = 70
"""Exit code when a function overran `functionTimeout` or ended the process: a supervisor starts a new one."""

_LONGEST_TEXT = 300


def die(reason: str) -> None:
    """End the process here and now, as a worker restart does to everything that is running in it."""
    host_log.critical("event=worker_died %s", reason)
    sys.stderr.flush()
    os._exit(WORKER_DIED)


class Invoker:
    """Calls functions and knows how many are running."""

    def __init__(
        self, timeout: timedelta | None, threads: int | None = None, on_death: Callable[[str], None] = die
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="function")
        self._watchdog = (
            None
            if timeout is None
            else Watchdog(timeout, lambda label: on_death(f"{label} timeout={timeout}"))
        )
        self._on_death = on_death
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def running(self) -> int:
        return self._running

    async def wait_idle(self) -> None:
        """Wait until nothing runs."""
        await self._idle.wait()

    async def invoke(
        self, function: FunctionDefinition, argument: Any, trace: TraceContext, *, repeat: bool = False
    ) -> Any:
        """Call the function with its trigger argument and return what it returned.

        Its exception passes through, and is logged with its trace unless this is the `repeat` of a call that
        failed before. A value returned without a `$return` binding raises RuntimeError, after
        the function's work is done.
        """
        invocation_id = str(uuid.uuid4())
        label = f"function={function.name} invocation={invocation_id}"
        arguments = self._arguments(function, argument, invocation_id, trace)
        started = time.monotonic()
        self._enter(invocation_id, label)
        try:
            result = await self._call(function, arguments, label)
            _check_result(function, result)
        except Exception as error:
            _log_failure(label, _since(started), error, trace=not repeat)
            raise
        finally:
            self._leave(invocation_id)
        host_log.info("event=executed %s ms=%d", label, _since(started))
        return result

    @staticmethod
    def _arguments(
        function: FunctionDefinition, argument: Any, invocation_id: str, trace: TraceContext
    ) -> dict[str, Any]:
        arguments = {function.trigger_parameter: argument}
        if function.requires_context:
            arguments["context"] = InvocationContext(
                function.name, str(function.script_directory), invocation_id, trace
            )
        return arguments

    async def _call(self, function: FunctionDefinition, arguments: Mapping[str, Any], label: str) -> Any:
        try:
            if function.is_async:
                return await function.call(**arguments)
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, lambda: function.call(**arguments))
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise RuntimeError("the function let an asyncio.CancelledError escape") from None
        except (SystemExit, KeyboardInterrupt) as error:
            self._on_death(f"{label} reason=the function raised {type(error).__name__}")
            raise

    def _enter(self, invocation_id: str, label: str) -> None:
        self._running += 1
        self._idle.clear()
        if self._watchdog is not None:
            self._watchdog.watch(invocation_id, label)

    def _leave(self, invocation_id: str) -> None:
        if self._watchdog is not None:
            self._watchdog.release(invocation_id)
        self._running -= 1
        if self._running == 0:
            self._idle.set()


def _check_result(function: FunctionDefinition, result: object) -> None:
    if result is not None and function.return_binding is None:
        raise RuntimeError(f"function {function.name!r} without a $return binding returned a non-None value")


def _log_failure(label: str, milliseconds: int, error: Exception, *, trace: bool) -> None:
    text = " ".join(str(error).split())[:_LONGEST_TEXT]
    host_log.error(
        "event=failed %s ms=%d error=%s text=%s",
        label,
        milliseconds,
        type(error).__name__,
        json.dumps(text, ensure_ascii=False),
        exc_info=error if trace else None,
    )


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
