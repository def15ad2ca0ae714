"""Results on their way out."""

import azure.functions as func
import pytest
from azure.functions.http import HttpResponseConverter
from azure.functions.meta import Datum

from devhost.functions.http_response import to_response


def _encoded(result: object) -> Datum:
    return HttpResponseConverter.encode(result, expected_type=None)


def test_status_headers_and_body_go_out_as_the_function_set_them() -> None:
    answer = to_response(
        _encoded(func.HttpResponse(b"\x00\xff", status_code=418, headers={"X-A": "1"}, mimetype="image/png"))
    )
    assert (answer.status, answer.body, answer.headers["X-A"]) == (418, b"\x00\xff", "1")
    assert answer.headers["Content-Type"] == "image/png"


def test_framing_headers_of_the_function_are_dropped() -> None:
    headers = {"Content-Length": "999", "Transfer-Encoding": "chunked", "Connection": "upgrade"}
    answer = to_response(_encoded(func.HttpResponse("x", headers=headers)))
    assert answer.headers.get("Content-Length") in {None, "1"}
    assert not {"Transfer-Encoding", "Connection"} & set(answer.headers)


@pytest.mark.parametrize("status", [0, 100, 199, 600, 999])
def test_a_status_http_does_not_have_is_refused(status: int) -> None:
    with pytest.raises(ValueError, match="no HTTP status"):
        to_response(_encoded(func.HttpResponse("x", status_code=status)))


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: b", "a\nb", "a\0"])
def test_a_header_that_would_split_the_answer_is_refused(value: str) -> None:
    datum = _encoded(func.HttpResponse("x"))
    datum.value["headers"]["x-a"] = Datum(value, "string")
    with pytest.raises(ValueError, match="line break or a NUL"):
        to_response(datum)
