"""Where an invocation belongs in a distributed trace (W3C trace context)."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """What the host hands to the worker of it (RpcTraceContext)."""

    trace_parent: str
    trace_state: str
    attributes: Mapping[str, str] = field(default_factory=dict)


def child_trace(traceparent: str | None, tracestate: str | None = None) -> TraceContext:
    """A new span in the caller's trace, or in a new one when its `traceparent` is absent or malformed.

    Source of the form: https://www.w3.org/TR/trace-context/
    """
    match = _TRACEPARENT.fullmatch((traceparent or "").strip())
    span = secrets.token_hex(8)
    if match is None or set(match[1]) == {"0"} or set(match[2]) == {"0"}:
        return TraceContext(f"00-{secrets.token_hex(16)}-{span}-00", "")
    return TraceContext(f"00-{match[1]}-{span}-{match[3]}", tracestate or "")
