"""The invocation context (`func.Context`) and its W3C trace context."""

import re
import secrets
import threading
from typing import Any

import azure.functions as func

_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_local = threading.local()


class TraceContext:
    """Where an invocation belongs in a distributed trace."""

    def __init__(self, parent: str, state: str) -> None:
        self._parent = parent
        self._state = state

    @property
    def trace_parent(self) -> str:
        return self._parent

    @property
    def trace_state(self) -> str:
        return self._state

    @property
    def attributes(self) -> dict[str, str]:
        return {}


class RetryContext:
    """No retry policy is in force: a first and only run."""

    @property
    def retry_count(self) -> int:
        return 0

    @property
    def max_retry_count(self) -> int:
        return 0

    @property
    def exception(self) -> Any:
        return None


class InvocationContext(func.Context):
    """What a `context` parameter receives."""

    def __init__(
        self, function_name: str, function_directory: str, invocation_id: str, trace: TraceContext
    ) -> None:
        self._function_name = function_name
        self._function_directory = function_directory
        self._invocation_id = invocation_id
        self._trace = trace

    @property
    def invocation_id(self) -> str:
        return self._invocation_id

    @property
    def thread_local_storage(self) -> Any:
        return _local

    @property
    def function_name(self) -> str:
        return self._function_name

    @property
    def function_directory(self) -> str:
        return self._function_directory

    @property
    def trace_context(self) -> Any:
        return self._trace

    @property
    def retry_context(self) -> Any:
        return RetryContext()


def child_trace(traceparent: str | None, tracestate: str | None = None) -> TraceContext:
    """A new span in the caller's trace, or in a new one when its `traceparent` is absent or malformed.

    Source of the form: https://www.w3.org/TR/trace-context/
    """
    match = _TRACEPARENT.fullmatch((traceparent or "").strip())
    span = secrets.token_hex(8)
    if match is None or set(match[1]) == {"0"} or set(match[2]) == {"0"}:
        return TraceContext(f"00-{secrets.token_hex(16)}-{span}-00", "")
    return TraceContext(f"00-{match[1]}-{span}-{match[3]}", tracestate or "")
