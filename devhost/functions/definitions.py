"""What the host knows of a function: its trigger, how to call it and what it may return."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HTTP_TRIGGER = "httpTrigger"
SERVICE_BUS_TRIGGER = "serviceBusTrigger"
TIMER_TRIGGER = "timerTrigger"
GENERIC = "generic"
"""The binding a parameter annotated `str` or `bytes` gets: the data as it is, no converter."""


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """One function, checked against its bindings."""

    name: str
    call: Callable[..., Any]
    script_directory: Path
    trigger: Mapping[str, Any]
    """The trigger binding in function.json form, settings resolved."""
    trigger_converter: str
    """The binding type whose converter makes the argument; `generic` for `str` and `bytes`."""
    requires_context: bool
    return_binding: str | None
    """The type of the `$return` binding, if there is one."""
    return_type: type | None

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.call)

    @property
    def trigger_type(self) -> str:
        return str(self.trigger["type"])

    @property
    def trigger_parameter(self) -> str:
        return str(self.trigger["name"])
