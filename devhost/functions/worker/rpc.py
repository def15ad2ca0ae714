"""The host's half of the protocol with the worker library, without gRPC: messages and their conversion.

The library builds and reads messages of a module it is given, and nothing else of gRPC. These stand in for
the classes that are generated from FunctionRpc.proto of
https://github.com/Azure/azure-functions-language-worker-protobuf; numbers and names are the protocol's.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, ClassVar

from azure.functions.meta import Datum

from devhost.functions.retry import RetryPolicy
from devhost.functions.worker.protocol import (
    Cookie,
    FunctionFailed,
    HttpResult,
    IndexedFunction,
    Invocation,
    Result,
    SameSite,
)
from devhost.functions.worker.retry_settings import check_strategy


class StatusResult(SimpleNamespace):
    """How a request ended."""

    Failure, Success, Cancelled = 0, 1, 2


class BindingInfo(SimpleNamespace):
    """One binding, its direction and data type."""

    out, inout = 1, 2
    undefined, string, binary, stream = 0, 1, 2, 3


setattr(BindingInfo, "in", 0)  # a keyword of Python


class _SameSite:
    Lax, Strict, ExplicitNone = 1, 2, 3


setattr(_SameSite, "None", 0)  # a keyword of Python


class RpcRetryOptions(SimpleNamespace):
    """A retry policy. Raises ValueError for a strategy that the protocol does not have."""

    def __init__(self, **fields: Any) -> None:
        check_strategy(fields["retry_strategy"])
        super().__init__(**fields)


class RpcHttpCookie(SimpleNamespace):
    """A cookie; its attributes are messages with a `value`, or None."""

    SameSite: ClassVar[type] = _SameSite


class OneOf(SimpleNamespace):
    """A message of which one field is set."""

    def WhichOneof(self, _: str) -> str | None:  # noqa: N802 - protobuf's name
        """The name of the field, None for an empty message."""
        return next(iter(vars(self)), None)


class Protos:
    """The generated module: messages without a class of their own above are records of their fields."""

    StatusResult, BindingInfo, TypedData = StatusResult, BindingInfo, OneOf
    RpcHttpCookie, RpcRetryOptions = RpcHttpCookie, RpcRetryOptions

    def __getattr__(self, name: str) -> type[SimpleNamespace]:
        return SimpleNamespace


def envelope(kind: str, protos: Protos, **fields: Any) -> SimpleNamespace:
    """A request as the proxy worker hands it to the library."""
    content = SimpleNamespace(**{kind: SimpleNamespace(**fields)})
    return SimpleNamespace(name=kind, request=content, properties={"protos": protos, "host": "127.0.0.1"})


def invocation_fields(invocation: Invocation) -> dict[str, Any]:
    """The fields of an InvocationRequest. A first run's retry context has the protocol's defaults."""
    trace, retry = invocation.trace, invocation.retry
    failure = SimpleNamespace(source="", stack_trace=retry.stack_trace, message=retry.message)
    return {
        "invocation_id": invocation.id,
        "function_id": invocation.function_id,
        "input_data": [ParameterBinding(invocation.parameter, typed_data(invocation.data))],
        "trigger_metadata": {name: typed_data(datum) for name, datum in invocation.metadata.items()},
        "trace_context": SimpleNamespace(
            trace_parent=trace.trace_parent, trace_state=trace.trace_state, attributes=dict(trace.attributes)
        ),
        "retry_context": SimpleNamespace(
            retry_count=retry.count, max_retry_count=retry.max_count, exception=failure
        ),
    }


class ParameterBinding:
    """A ParameterBinding whose value travels in the message, not in shared memory."""

    def __init__(self, name: str, data: OneOf) -> None:
        self.name, self.data = name, data

    def WhichOneof(self, _: str) -> str:  # noqa: N802 - protobuf's name
        """The field that carries the value."""
        return "data"


def typed_data(datum: Datum) -> OneOf:
    """A value for the worker; of an HTTP request the parts are text, but for the body."""
    if datum.type != "http":
        return OneOf(**{str(datum.type): datum.value})
    value: Mapping[str, Any] = datum.value
    request = SimpleNamespace(method=value["method"].value, url=value["url"].value)
    for part in ("headers", "params", "query"):
        setattr(request, part, {name: item.value for name, item in value[part].items()})
    request.body = typed_data(value["body"])
    return OneOf(http=request)


def indexed_function(metadata: Any) -> IndexedFunction:
    """From RpcFunctionMetadata."""
    return IndexedFunction(
        id=metadata.function_id,
        name=metadata.name,
        bindings=[json.loads(binding) for binding in metadata.raw_bindings],
        retry_policy=_retry_policy(metadata.retry_options),
    )


def _retry_policy(options: Any) -> RetryPolicy | None:
    """From RpcRetryOptions; a fixed delay has its own field."""
    if options is None:
        return None
    fixed = getattr(options, "delay_interval", None)
    if fixed is not None:
        return RetryPolicy(options.max_retry_count, fixed, fixed)
    return RetryPolicy(options.max_retry_count, options.minimum_interval, options.maximum_interval)


def result_of(response: Any) -> Result:
    """What an InvocationResponse brought. Raises FunctionFailed if it says so."""
    if response.result.status != StatusResult.Success:
        error = response.result.exception
        raise FunctionFailed(error.message, error.stack_trace)
    value = response.return_value
    match None if value is None else value.WhichOneof("data"):
        case None:
            return None
        case "string":
            return str(value.string)
        case "http":
            return _http_result(value.http)
        case kind:
            raise ValueError(f"the worker returned {kind}, which no output binding of this host takes")


def _http_result(http: Any) -> HttpResult:
    return HttpResult(
        status=http.status_code,
        headers=dict(http.headers),
        cookies=tuple(_cookie(each) for each in http.cookies or ()),
        body=http.body.bytes,
    )


def _cookie(sent: Any) -> Cookie:
    expires = _value(sent.expires)
    same_site = {1: SameSite.LAX, 2: SameSite.STRICT, 3: SameSite.NONE}
    return Cookie(
        name=sent.name,
        value=sent.value,
        domain=_value(sent.domain),
        path=_value(sent.path),
        expires=None if expires is None else datetime.fromtimestamp(expires.seconds, UTC),
        max_age=_value(sent.max_age),
        secure=bool(_value(sent.secure)),
        http_only=bool(_value(sent.http_only)),
        same_site=same_site.get(sent.same_site, SameSite.UNSET),
    )


def _value(nullable: Any) -> Any:
    return None if nullable is None else nullable.value
