"""Have functions run by the worker, each under `functionTimeout`."""

import asyncio
import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType

from azure.functions.meta import Datum

from devhost.functions.context import TraceContext
from devhost.functions.definitions import FunctionDefinition
from devhost.functions.log import host_log
from devhost.functions.retry import FIRST_RUN, RetryState
from devhost.functions.watchdog import Watchdog
from devhost.functions.worker.protocol import FunctionFailed, Invocation, Result, Worker

WORKER_DIED = 70
"""Exit code when a function overran `functionTimeout` or ended the process: a supervisor starts a new one."""

_LONGEST_TEXT = 300
_NO_METADATA: Mapping[str, Datum] = MappingProxyType({})


def die(reason: str) -> None:
    """End the process here and now, as a worker restart does to everything that is running in it."""
    host_log.critical("event=worker_died %s", reason)
    sys.stderr.flush()
    os._exit(WORKER_DIED)


class Invoker:
    """Calls functions and knows how many are running."""

    def __init__(
        self, timeout: timedelta | None, worker: Worker, on_death: Callable[[str], None] = die
    ) -> None:
        self._worker = worker
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
        self,
        function: FunctionDefinition,
        data: Datum,
        trace: TraceContext,
        metadata: Mapping[str, Datum] = _NO_METADATA,
        *,
        retry: RetryState = FIRST_RUN,
        repeat: bool = False,
    ) -> Result:
        """Call the function with its trigger's data and metadata, and return what it returned.

        Raises FunctionFailed, which is logged with its trace unless this is the `repeat` of a call that
        failed before. A function that lets an `asyncio.CancelledError` escape, or anything else that is no
        `Exception`, is never answered by the worker, so its call does not end before `functionTimeout`.
        """
        invocation = Invocation(
            id=str(uuid.uuid4()),
            function_id=function.id,
            parameter=function.trigger_parameter,
            data=data,
            metadata=metadata,
            trace=trace,
            retry=retry,
        )
        label = f"function={function.name} invocation={invocation.id}"
        started = time.monotonic()
        self._enter(invocation.id, label)
        try:
            result = await self._call(invocation, label)
        except FunctionFailed as failure:
            _log_failure(label, _since(started), failure, trace=not repeat)
            raise
        finally:
            self._leave(invocation.id)
        host_log.info("event=executed %s ms=%d", label, _since(started))
        return result

    async def _call(self, invocation: Invocation, label: str) -> Result:
        try:
            return await self._worker.invoke(invocation)
        except (Exception, GeneratorExit):
            raise
        except (SystemExit, KeyboardInterrupt) as error:
            self._on_death(f"{label} reason=the function raised {type(error).__name__}")
            raise
        except BaseException as error:
            if _is_being_cancelled():
                raise
            host_log.error(
                "event=never_answered %s reason=the function let %s escape, which is no Exception",
                label,
                type(error).__name__,
                exc_info=error,
            )
        await asyncio.Event().wait()
        return None

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


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _log_failure(label: str, milliseconds: int, failure: FunctionFailed, *, trace: bool) -> None:
    kind, _, text = failure.message.partition(": ")
    host_log.error(
        "event=failed %s ms=%d error=%s text=%s%s",
        label,
        milliseconds,
        kind,
        json.dumps(" ".join(text.split())[:_LONGEST_TEXT], ensure_ascii=False),
        f"\n{failure.stack_trace.rstrip()}" if trace else "",
    )


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
