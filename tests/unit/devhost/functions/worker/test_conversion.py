"""From the host's data to the function's argument, and from its result back."""

import azure.functions as func
import pytest
from azure.functions.meta import Datum

from devhost.functions.convert import as_json, text
from devhost.functions.definitions import GENERIC
from devhost.functions.http_data import http_datum
from devhost.functions.worker.conversion import decode, encode
from devhost.functions.worker.protocol import Cookie, HttpResult

REQUEST = http_datum("GET", "http://h/api/x", {}, {}, {}, b"")


def test_text_and_bytes_reach_a_parameter_that_asks_for_them_as_they_are() -> None:
    assert decode(GENERIC, text("ä"), {}) == "ä"
    assert decode(GENERIC, Datum(b"\xff", "bytes"), {}) == b"\xff"
    assert decode(GENERIC, as_json({"a": 1}), {}) == '{"a": 1}'


def test_a_request_cannot_be_taken_as_text() -> None:
    with pytest.raises(ValueError, match='for the "generic" binding'):
        decode(GENERIC, REQUEST, {})


def test_a_binding_that_cannot_take_the_data_says_so() -> None:
    with pytest.raises(TypeError, match="unsupported combination of TypedData field 'string'"):
        decode("httpTrigger", text("x"), {})


def test_an_answer_keeps_its_cookies_apart_from_its_headers() -> None:
    answer = func.HttpResponse("x", status_code=201, headers={"X-A": "1", "Set-Cookie": "a=1; Path=/"})
    result = encode("http", answer, None)
    assert isinstance(result, HttpResult)
    assert (result.status, result.body) == ("201", b"x")
    assert {name.lower() for name in result.headers} == {"x-a", "content-type"}
    assert result.cookies == (Cookie("a", "1", domain="", path="/"),)


@pytest.mark.parametrize("value", [None, 7, b"x", {}])
def test_what_http_cannot_take_is_refused(value: object) -> None:
    name = type(value).__name__
    with pytest.raises(TypeError, match=f'unsupported type "http" for Python type "{name}"'):
        encode("http", value, None)
