"""What a `context` parameter receives: as the worker's, no subclass of `func.Context`.

Source: `bindings/context.py` and its neighbours in the PyPI package azure-functions-runtime.
"""

import threading
from dataclasses import dataclass, field

from devhost.functions.context import TraceContext
from devhost.functions.retry import RetryState


@dataclass(frozen=True, slots=True)
class RpcException:
    """What an earlier run of a retry raised; the protocol's empty message when there was none."""

    source: str = ""
    stack_trace: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class RetryContext:
    """The defaults are a first run's, with or without a retry policy."""

    retry_count: int = 0
    max_retry_count: int = 0
    rpc_exception: RpcException = field(default_factory=RpcException)


def retry_context(retry: RetryState) -> RetryContext:
    """What the function sees of the runs before."""
    failure = RpcException(stack_trace=retry.stack_trace, message=retry.message)
    return RetryContext(retry.count, retry.max_count, failure)


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
