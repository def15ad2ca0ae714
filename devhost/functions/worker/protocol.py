"""What the host asks of a worker, in the shapes of the protocol between the real two.

Source: FunctionRpc.proto in https://github.com/Azure/azure-functions-language-worker-protobuf
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from azure.functions.meta import Datum

from devhost.functions.context import TraceContext
from devhost.functions.retry import FIRST_RUN, RetryPolicy, RetryState


@dataclass(frozen=True, slots=True)
class IndexedFunction:
    """A function as the worker reports it (RpcFunctionMetadata)."""

    id: str
    name: str
    bindings: Sequence[Mapping[str, Any]]
    """In function.json form, app settings not yet resolved."""
    retry_policy: RetryPolicy | None = None


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of a function (InvocationRequest); `data` goes to the trigger's `parameter`."""

    id: str
    function_id: str
    parameter: str
    data: Datum
    metadata: Mapping[str, Datum]
    trace: TraceContext
    retry: RetryState = FIRST_RUN


class SameSite(StrEnum):
    """What a cookie says of other sites' requests; UNSET says nothing."""

    UNSET = ""
    LAX = "lax"
    STRICT = "strict"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie to set (RpcHttpCookie)."""

    name: str
    value: str
    domain: str | None = None
    path: str | None = None
    expires: datetime | None = None
    max_age: float | None = None
    """Seconds."""
    secure: bool = False
    http_only: bool = False
    same_site: SameSite = SameSite.UNSET


@dataclass(frozen=True, slots=True)
class HttpResult:
    """An HTTP answer (RpcHttp), nothing of it checked yet."""

    status: str
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Sequence[Cookie] = ()
    body: bytes = b""


Result = HttpResult | str | None
"""What the `$return` binding gave; None without one."""


class FunctionFailed(Exception):
    """The invocation failed, in the function or before or after it (StatusResult with an RpcException)."""

    def __init__(self, message: str, stack_trace: str) -> None:
        """`message` is `<type>: <text>`."""
        super().__init__(message)
        self.message = message
        self.stack_trace = stack_trace


class Worker(Protocol):
    """Knows the app; one worker indexes one app."""

    async def index(self, app: Path) -> list[IndexedFunction]:
        """Import the app from its folder, which is on `sys.path`, and check its functions.

        An app without functions gives none. Raises StartError with what the worker refuses, in its words.
        """

    async def invoke(self, invocation: Invocation) -> Result:
        """Run the function: an async one on this event loop, a sync one in the worker's thread pool.

        Raises FunctionFailed. `asyncio.CancelledError`, `SystemExit` and `KeyboardInterrupt` of the function
        pass through: the real worker answers nothing to the first and ends at the others.
        """
