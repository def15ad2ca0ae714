"""Calling functions."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from devhost.functions.context import child_trace
from devhost.functions.convert import text
from devhost.functions.definitions import FunctionDefinition
from devhost.functions.invocation import Invoker
from devhost.functions.worker.protocol import FunctionFailed, Result
from tests.support.own_worker import knowing

TRIGGER = {"type": "serviceBusTrigger", "name": "x"}


def _invoker(
    call: Callable[..., Any], return_binding: str | None = None, **options: Any
) -> tuple[Invoker, FunctionDefinition]:
    worker, function = knowing(call, TRIGGER, return_binding=return_binding)
    return Invoker(None, worker, **options), function


async def _invoke(call: Callable[..., Any], return_binding: str | None = None) -> Result:
    invoker, function = _invoker(call, return_binding)
    return await invoker.invoke(function, text("7"), child_trace(None))


async def test_an_async_function_runs_on_the_loop() -> None:
    async def call(x: str) -> str:
        return f"{x} {threading.current_thread().name}"

    assert await _invoke(call, "http") == f"7 {threading.current_thread().name}"


async def test_a_sync_function_runs_off_the_loop() -> None:
    def call(x: str) -> str:
        return f"{x} {threading.current_thread().name}"

    result = await _invoke(call, "http")
    assert str(result).startswith("7 ThreadPoolExecutor")


async def test_an_exception_of_the_function_is_a_failure_that_tells_its_type_and_text() -> None:
    def call(x: str) -> None:
        raise KeyError(x)

    with pytest.raises(FunctionFailed, match=r"KeyError: '7'") as failure:
        await _invoke(call)
    assert "raise KeyError(x)\nKeyError: '7'" in failure.value.stack_trace


@pytest.mark.parametrize("repeat", [False, True])
async def test_a_failure_is_one_line_and_has_its_trace_the_first_time_only(
    caplog: pytest.LogCaptureFixture, *, repeat: bool
) -> None:
    async def call(x: object) -> None:
        raise LookupError("line one\nline two")

    invoker, function = _invoker(call)
    with pytest.raises(FunctionFailed):
        await invoker.invoke(function, text("7"), child_trace(None), repeat=repeat)
    (record,) = caplog.records
    line, _, trace = record.getMessage().partition("\n")
    assert line.startswith("event=failed function=fn invocation=")
    assert line.endswith('error=LookupError text="line one line two"')
    assert trace.startswith("Traceback") is not repeat
    assert bool(trace) is not repeat


async def test_a_value_without_a_return_binding_is_an_error_after_the_work() -> None:
    done: list[object] = []

    async def call(x: object) -> int:
        done.append(x)
        return 1

    with pytest.raises(FunctionFailed, match=r"without a \$return bindingreturned a non-None value"):
        await _invoke(call)
    assert done == ["7"]


@pytest.mark.parametrize("death", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_function_that_ends_the_process_is_reported(
    death: type[BaseException], *, is_async: bool
) -> None:
    async def call_async(x: object) -> None:
        raise death

    def call_sync(x: object) -> None:
        raise death

    died: list[str] = []
    caught: list[type[BaseException]] = []
    invoker, function = _invoker(call_async if is_async else call_sync, on_death=died.append)
    try:
        await invoker.invoke(function, text("7"), child_trace(None))
    except (SystemExit, KeyboardInterrupt) as error:
        caught.append(type(error))
    assert caught == [death]
    assert died[0].startswith("function=fn invocation=")
    assert f"raised {death.__name__}" in died[0]


class _NoException(BaseException):
    """What `except Exception` does not catch, as the worker's own does not."""


@pytest.mark.parametrize("escaped", [asyncio.CancelledError, _NoException])
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_is_no_exception_and_escapes_the_function_is_never_answered(
    caplog: pytest.LogCaptureFixture, escaped: type[BaseException], *, is_async: bool
) -> None:
    async def call_async(x: object) -> None:
        raise escaped

    def call_sync(x: object) -> None:
        raise escaped

    invoker, function = _invoker(call_async if is_async else call_sync)
    running = asyncio.create_task(invoker.invoke(function, text("7"), child_trace(None)))
    while "event=never_answered function=fn" not in caplog.text:  # noqa: ASYNC110  a log line sets no event
        await asyncio.sleep(0.01)
    assert (running.done(), invoker.running) == (False, 1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert invoker.running == 0


async def test_it_is_idle_only_when_nothing_runs() -> None:
    go = asyncio.Event()

    async def call(x: object) -> None:
        await go.wait()

    invoker, function = _invoker(call)
    await asyncio.wait_for(invoker.wait_idle(), 60)
    running = [asyncio.create_task(invoker.invoke(function, text("7"), child_trace(None))) for _ in range(2)]
    await asyncio.sleep(0)
    assert invoker.running == 2
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(invoker.wait_idle(), 0.05)
    go.set()
    await asyncio.wait_for(invoker.wait_idle(), 60)
    await asyncio.gather(*running)
    assert invoker.running == 0
