"""The shapes that go to the worker library and come from it."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from azure.functions.meta import Datum

from devhost.functions.context import TraceContext
from devhost.functions.convert import as_json, text
from devhost.functions.http_data import http_datum
from devhost.functions.retry import RetryPolicy
from devhost.functions.worker import rpc
from devhost.functions.worker.protocol import Cookie, FunctionFailed, HttpResult, Invocation, SameSite

PROTOS: Any = rpc.Protos()


def response(value: Any = None, status: int = 1, **more: Any) -> SimpleNamespace:
    result = SimpleNamespace(status=status, **more)
    return SimpleNamespace(result=result, return_value=value, output_data=[])


def cookie(**given: Any) -> Any:
    names = ("domain", "path", "expires", "secure", "http_only", "max_age")
    fields = dict.fromkeys(names) | {"same_site": 0} | given
    return PROTOS.RpcHttpCookie(name="a", value="1", **fields)


@pytest.mark.parametrize(
    ("datum", "kind"),
    [(text("ä"), "string"), (as_json({"a": 1}), "json"), (Datum(b"\x00\xff", "bytes"), "bytes")],
)
def test_a_value_is_one_field_named_by_its_wire_type(datum: Datum, kind: str) -> None:
    sent = rpc.typed_data(datum)
    assert sent.WhichOneof("data") == kind
    assert getattr(sent, kind) == datum.value


def test_a_request_s_parts_are_text_and_its_body_a_value_of_its_own() -> None:
    datum = http_datum("POST", "http://h/api/x?q=1", {"x-a": "1"}, {"q": "1"}, {"id": "7"}, b"\x00")
    sent = rpc.typed_data(datum)
    assert sent.WhichOneof("data") == "http"
    request = sent.http
    assert (request.method, request.url) == ("POST", "http://h/api/x?q=1")
    assert (request.headers, request.query, request.params) == ({"x-a": "1"}, {"q": "1"}, {"id": "7"})
    assert (request.body.WhichOneof("data"), request.body.bytes) == ("bytes", b"\x00")


def test_an_invocation_names_its_function_and_carries_metadata_trace_and_an_empty_retry() -> None:
    trace = TraceContext("00-parent", "k=v")
    fields = rpc.invocation_fields(Invocation("i", "f", "msg", text("x"), {"MessageId": text("m")}, trace))
    assert (fields["invocation_id"], fields["function_id"]) == ("i", "f")
    (parameter,) = fields["input_data"]
    assert (parameter.name, parameter.WhichOneof("rpc_data"), parameter.data.string) == ("msg", "data", "x")
    assert fields["trigger_metadata"]["MessageId"].string == "m"
    sent = fields["trace_context"]
    assert (sent.trace_parent, sent.trace_state, sent.attributes) == ("00-parent", "k=v", {})
    retry = fields["retry_context"]
    assert (retry.retry_count, retry.max_retry_count, retry.exception.message) == (0, 0, "")


def test_a_request_is_wrapped_as_the_proxy_worker_does() -> None:
    sent = rpc.envelope("function_load_request", PROTOS, function_id="f")
    assert sent.name == "function_load_request"
    assert sent.request.function_load_request.function_id == "f"
    assert sent.properties["protos"] is PROTOS


def test_a_function_comes_with_its_bindings_parsed() -> None:
    metadata = PROTOS.RpcFunctionMetadata(
        function_id="f", name="fn", raw_bindings=['{"type": "http"}'], retry_options=None
    )
    function = rpc.indexed_function(metadata)
    assert (function.id, function.name, function.retry_policy) == ("f", "fn", None)
    assert function.bindings == [{"type": "http"}]


def test_a_retry_policy_is_read_whatever_its_strategy() -> None:
    second, hour = timedelta(seconds=1), timedelta(hours=1)
    fixed = PROTOS.RpcRetryOptions(max_retry_count=3, retry_strategy="fixed_delay", delay_interval=second)
    growing = PROTOS.RpcRetryOptions(
        max_retry_count=-1,
        retry_strategy="exponential_backoff",
        minimum_interval=second,
        maximum_interval=hour,
    )
    for options, policy in (
        (fixed, RetryPolicy(3, second, second)),
        (growing, RetryPolicy(-1, second, hour)),
    ):
        metadata = PROTOS.RpcFunctionMetadata(
            function_id="f", name="fn", raw_bindings=[], retry_options=options
        )
        assert rpc.indexed_function(metadata).retry_policy == policy


def test_a_failure_carries_the_worker_s_words_and_trace() -> None:
    error = PROTOS.RpcException(message="ValueError: planned", stack_trace="Traceback")
    with pytest.raises(FunctionFailed) as failure:
        rpc.result_of(response(status=0, exception=error))
    assert (failure.value.message, failure.value.stack_trace) == ("ValueError: planned", "Traceback")


def test_nothing_and_text_come_as_they_are() -> None:
    assert rpc.result_of(response()) is None
    assert rpc.result_of(response(PROTOS.TypedData(string="ä"))) == "ä"


def test_an_answer_comes_with_status_headers_and_body() -> None:
    body = PROTOS.TypedData(bytes=b"\x00")
    http = PROTOS.RpcHttp(status_code="418", headers={"x-a": "1"}, cookies=None, body=body)
    assert rpc.result_of(response(PROTOS.TypedData(http=http))) == HttpResult(
        "418", {"x-a": "1"}, (), b"\x00"
    )


def test_a_value_that_no_binding_here_takes_is_refused() -> None:
    with pytest.raises(ValueError, match="the worker returned json"):
        rpc.result_of(response(PROTOS.TypedData(json="{}")))


def test_a_cookie_s_attributes_are_unwrapped() -> None:
    wrapped = cookie(
        domain=PROTOS.NullableString(value="d.example"),
        path=PROTOS.NullableString(value="/"),
        expires=PROTOS.NullableTimestamp(value=PROTOS.Timestamp(seconds=1_767_323_045)),
        secure=PROTOS.NullableBool(value=True),
        http_only=PROTOS.NullableBool(value=False),
        max_age=PROTOS.NullableDouble(value=60.0),
        same_site=PROTOS.RpcHttpCookie.SameSite.ExplicitNone,
    )
    http = PROTOS.RpcHttp(
        status_code="200", headers={}, cookies=[wrapped, cookie()], body=PROTOS.TypedData(bytes=b"")
    )
    result = rpc.result_of(response(PROTOS.TypedData(http=http)))
    assert isinstance(result, HttpResult)
    assert result.cookies == (
        Cookie(
            name="a",
            value="1",
            domain="d.example",
            path="/",
            expires=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            max_age=60.0,
            secure=True,
            http_only=False,
            same_site=SameSite.NONE,
        ),
        Cookie("a", "1"),
    )
