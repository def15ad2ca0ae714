"""The listeners of an app: one for each timer and queue function. HTTP has its own front."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from devhost.functions.definitions import SERVICE_BUS_TRIGGER, TIMER_TRIGGER, FunctionDefinition
from devhost.functions.errors import FunctionLoadError, StartError
from devhost.functions.hostjson import HostConfig
from devhost.functions.invocation import Invoker
from devhost.functions.settings import AppSettings
from devhost.functions.timer_state import TimerState
from devhost.functions.timers import TimerListener


class Listener(Protocol):
    """Calls one function when its trigger fires."""

    async def start(self) -> None:
        """Begin to listen; returns when the first attempt to reach the source is over."""

    def stop(self) -> None:
        """Take on nothing new; what runs goes on."""

    async def drain(self) -> None:
        """After `stop`: wait until everything that was begun is finished."""

    async def close(self) -> None:
        """Let go of everything, finished or not."""


def make_listeners(
    functions: Iterable[FunctionDefinition],
    *,
    config: HostConfig,
    settings: AppSettings,
    invoker: Invoker,
    state: Path | None,
) -> list[Listener]:
    """Raises StartError with the problems of every function."""
    timer_state = TimerState(state)
    listeners: list[Listener] = []
    problems: list[str] = []
    for function in functions:
        try:
            if function.trigger_type == TIMER_TRIGGER:
                listeners.append(TimerListener(function, invoker, timer_state))
            elif function.trigger_type == SERVICE_BUS_TRIGGER:
                listeners.append(_queue_listener(function, config, settings, invoker))
        except StartError as error:
            problems += error.problems
    if problems:
        raise StartError(problems)
    return listeners


def _queue_listener(
    function: FunctionDefinition, config: HostConfig, settings: AppSettings, invoker: Invoker
) -> Listener:
    if not config.has_extension_bundle:
        raise FunctionLoadError(
            function.name,
            "the binding type(s) 'serviceBusTrigger' are not registered: host.json names no extensionBundle",
        )
    # Imported here: an app without queues starts without the SDK.
    from devhost.functions.service_bus import QueueListener

    return QueueListener(function, settings, config.service_bus, invoker)
