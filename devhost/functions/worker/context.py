"""What a `context` parameter receives: as the worker's, no subclass of `func.Context`.

Source: `bindings/context.py` and its neighbours in the PyPI package azure-functions-runtime.
"""

import threading
from dataclasses import dataclass, field

from devhost.functions.context import TraceContext


@dataclass(frozen=True, slots=True)
class RpcException:
    """What an earlier run of a retry raised; the protocol's empty message when there was none."""

    source: str = ""
    stack_trace: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class RetryContext:
    """No retry policy is in force: a first and only run."""

    retry_count: int = 0
    max_retry_count: int = 0
    rpc_exception: RpcException = field(default_factory=RpcException)


class WorkerTraceContext:
    """The invocation's trace, under its present and its deprecated names."""

    def __init__(self, trace: TraceContext) -> None:
        self.trace_parent = self.Traceparent = trace.trace_parent
        self.trace_state = self.Tracestate = trace.trace_state
        self.attributes = self.Attributes = trace.attributes


@dataclass(frozen=True, slots=True)
class InvocationContext:
    """One invocation, as the function sees it."""

    function_name: str
    function_directory: str
    invocation_id: str
    thread_local_storage: threading.local
    trace_context: WorkerTraceContext
    retry_context: RetryContext
