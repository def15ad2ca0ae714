"""What the host knows of a function: its trigger and whether it returns something."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from devhost.functions.retry import RetryPolicy

HTTP_TRIGGER = "httpTrigger"
SERVICE_BUS_TRIGGER = "serviceBusTrigger"
TIMER_TRIGGER = "timerTrigger"
GENERIC = "generic"
"""The binding a parameter annotated `str` or `bytes` gets: the data as it is, no converter."""


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """One function, as its worker indexed it."""

    id: str
    """The worker's own; invocations name the function by it."""
    name: str
    trigger: Mapping[str, Any]
    """The trigger binding in function.json form, settings resolved."""
    has_return: bool
    """Whether there is a `$return` binding."""
    retry: RetryPolicy | None = None
    """Honoured for a timer only."""

    @property
    def trigger_type(self) -> str:
        return str(self.trigger["type"])

    @property
    def trigger_parameter(self) -> str:
        return str(self.trigger["name"])


def script_name(environment: Mapping[str, str]) -> str:
    """The app's file: the app setting PYTHON_SCRIPT_FILE_NAME, else function_app.py."""
    return environment.get("PYTHON_SCRIPT_FILE_NAME", "function_app.py")
