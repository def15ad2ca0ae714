"""A function's cookies, read as the Python worker reads them."""

from datetime import UTC, datetime
from http.cookies import SimpleCookie

import pytest

from devhost.functions.worker.cookies import read_cookies
from devhost.functions.worker.protocol import Cookie, SameSite


def read(text: str) -> tuple[Cookie, ...]:
    return read_cookies([SimpleCookie(text)])


def test_attributes_that_are_not_there_are_empty() -> None:
    assert read("a=1") == (Cookie("a", "1", domain="", path=""),)


def test_every_attribute_is_read() -> None:
    (found,) = read(
        "a=1; Domain=d.example; Path=/x; Secure; HttpOnly; Max-Age=1.5; SameSite=STRICT; "
        "Expires=Fri, 02 Jan 2026 03:04:05 GMT"
    )
    assert found == Cookie(
        name="a",
        value="1",
        domain="d.example",
        path="/x",
        expires=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        max_age=1.5,
        secure=True,
        http_only=True,
        same_site=SameSite.STRICT,
    )


@pytest.mark.parametrize("text", ["a=1; SameSite=odd", "a=1"])
def test_a_same_site_that_is_unknown_is_left_out(text: str) -> None:
    assert [cookie.same_site for cookie in read(text)] == [SameSite.UNSET]


def test_one_header_may_hold_several_cookies() -> None:
    assert [cookie.name for cookie in read("a=1; b=2")] == ["a", "b"]


def test_an_age_or_expiry_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Cannot parse value soon of 'cookie\.maxAge' to float"):
        read("a=1; Max-Age=soon")
    with pytest.raises(ValueError, match="does not match format"):
        read("a=1; Expires=soon")
