"""Results on their way out."""

from datetime import UTC, datetime

import pytest

from devhost.functions.http_response import set_cookie, to_response
from devhost.functions.worker.protocol import Cookie, HttpResult, SameSite


def test_status_headers_and_body_go_out_as_the_function_set_them() -> None:
    headers = {"X-A": "1", "content-type": "image/png"}
    answer = to_response(HttpResult("418", headers, body=b"\x00\xff"))
    assert (answer.status, answer.body, answer.headers["X-A"]) == (418, b"\x00\xff", "1")
    assert answer.headers["Content-Type"] == "image/png"


def test_framing_headers_of_the_function_are_dropped() -> None:
    headers = {"Content-Length": "999", "Transfer-Encoding": "chunked", "Connection": "upgrade"}
    answer = to_response(HttpResult("200", headers, body=b"x"))
    assert answer.headers.get("Content-Length") in {None, "1"}
    assert not {"Transfer-Encoding", "Connection"} & set(answer.headers)


@pytest.mark.parametrize("status", [0, 100, 199, 600, 999])
def test_a_status_http_does_not_have_is_refused(status: int) -> None:
    with pytest.raises(ValueError, match="no HTTP status"):
        to_response(HttpResult(str(status)))


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: b", "a\nb", "a\0"])
def test_a_header_that_would_split_the_answer_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="line break or a NUL"):
        to_response(HttpResult("200", {"x-a": value}))
    with pytest.raises(ValueError, match="line break or a NUL"):
        to_response(HttpResult("200", cookies=[Cookie("a", "1", domain=value)]))


def test_every_cookie_has_a_header_of_its_own() -> None:
    answer = to_response(HttpResult("200", cookies=[Cookie("a", "1"), Cookie("b", "2")]))
    assert answer.headers.getall("Set-Cookie") == ["a=1; path=/", "b=2; path=/"]


def test_a_cookie_s_attributes_go_out_in_the_host_s_form() -> None:
    cookie = Cookie(
        name="a",
        value="one two;",
        domain="hooks.example",
        path="/api",
        expires=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        max_age=60.9,
        secure=True,
        http_only=True,
        same_site=SameSite.LAX,
    )
    assert set_cookie(cookie) == (
        "a=one%20two%3B; expires=Fri, 02 Jan 2026 03:04:05 GMT; max-age=60; domain=hooks.example; path=/api; "
        "secure; samesite=lax; httponly"
    )


def test_a_cookie_with_a_negative_age_is_refused() -> None:
    with pytest.raises(ValueError, match="negative max-age"):
        set_cookie(Cookie("a", "1", max_age=-1))
