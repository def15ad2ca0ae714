"""Calling functions."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devhost.functions.context import child_trace
from devhost.functions.definitions import FunctionDefinition
from devhost.functions.invocation import Invoker


def _function(call: Callable[..., Any], return_binding: str | None = None) -> FunctionDefinition:
    return FunctionDefinition(
        name="fn",
        call=call,
        script_directory=Path(),
        trigger={"type": "timerTrigger", "name": "x"},
        trigger_converter="timerTrigger",
        requires_context=False,
        return_binding=return_binding,
        return_type=None,
    )


async def _invoke(invoker: Invoker, function: FunctionDefinition, argument: object = None) -> Any:
    return await invoker.invoke(function, argument, child_trace(None))


async def test_an_async_function_runs_on_the_loop() -> None:
    async def call(x: object) -> object:
        return x, threading.current_thread()

    assert await _invoke(Invoker(None), _function(call, "http"), 7) == (7, threading.current_thread())


async def test_a_sync_function_runs_off_the_loop() -> None:
    def call(x: object) -> object:
        return x, threading.current_thread()

    value, thread = await _invoke(Invoker(None), _function(call, "http"), 7)
    assert value == 7
    assert thread is not threading.current_thread()


async def test_an_exception_of_the_function_passes_through() -> None:
    def call(x: object) -> None:
        raise KeyError(x)

    with pytest.raises(KeyError):
        await _invoke(Invoker(None), _function(call))


@pytest.mark.parametrize("repeat", [False, True])
async def test_a_failure_is_one_line_and_has_its_trace_the_first_time_only(
    caplog: pytest.LogCaptureFixture, *, repeat: bool
) -> None:
    async def call(x: object) -> None:
        raise LookupError("line one\nline two")

    with pytest.raises(LookupError):
        await Invoker(None).invoke(_function(call), 7, child_trace(None), repeat=repeat)
    (record,) = caplog.records
    assert record.getMessage().startswith("event=failed function=fn invocation=")
    assert record.getMessage().endswith('error=LookupError text="line one line two"')
    assert (record.exc_info is None) is repeat


async def test_a_value_without_a_return_binding_is_an_error_after_the_work() -> None:
    done: list[object] = []

    async def call(x: object) -> int:
        done.append(x)
        return 1

    with pytest.raises(RuntimeError, match=r"without a \$return binding returned a non-None value"):
        await _invoke(Invoker(None), _function(call), 7)
    assert done == [7]


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
    invoker = Invoker(None, on_death=died.append)
    try:
        await _invoke(invoker, _function(call_async if is_async else call_sync))
    except (SystemExit, KeyboardInterrupt) as error:
        caught.append(type(error))
    assert caught == [death]
    assert died[0].startswith("function=fn invocation=")
    assert f"raised {death.__name__}" in died[0]


async def test_it_is_idle_only_when_nothing_runs() -> None:
    go = asyncio.Event()

    async def call(x: object) -> None:
        await go.wait()

    invoker = Invoker(None)
    await asyncio.wait_for(invoker.wait_idle(), 1)
    running = [asyncio.create_task(_invoke(invoker, _function(call))) for _ in range(2)]
    await asyncio.sleep(0)
    assert invoker.running == 2
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(invoker.wait_idle(), 0.05)
    go.set()
    await asyncio.wait_for(invoker.wait_idle(), 10)
    await asyncio.gather(*running)
    assert invoker.running == 0
