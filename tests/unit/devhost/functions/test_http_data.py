"""What the host makes of a request line and headers."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.functions.http_data import join_headers, parse_query, parse_target, request_url, scheme_of


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {}),
        ("?", {}),
        ("?a=1", {"a": "1"}),
        ("?a=1&a=2&A=3", {"a": "1,2,3"}),
        ("?a=&a=2", {"a": ",2"}),
        ("?a=&b", {}),
        ("?a=1+2%2B3", {"a": "1 2+3"}),
        ("?a=%C3%A9", {"a": "é"}),
        ("?a=%ff%C3%A9", {"a": "%FFé"}),
        ("?a=1=2", {"a": "1=2"}),
        ("?&&a=1&", {"a": "1"}),
        ("?a=100%", {"a": "100%"}),
    ],
)
def test_a_query_is_read_as_the_host_reads_it(query: str, expected: dict[str, str]) -> None:
    assert parse_query(query) == expected


@pytest.mark.parametrize(
    ("raw", "path", "query"),
    [
        ("/api/x", "/api/x", ""),
        ("/api/x?", "/api/x", "?"),
        ("/api/a%20b?q=%20", "/api/a b", "?q=%20"),
        ("/api/a%2Fb", "/api/a%2Fb", ""),
        ("/api/../admin/x", "/admin/x", ""),
        ("/api/%2e%2e/x", "/x", ""),
        ("/../x", "/x", ""),
        ("/a/./b/.", "/a/b/", ""),
        ("http://other.example/api/x?q", "/api/x", "?q"),
        ("http://other.example", "/", ""),
        ("/api//x", "/api//x", ""),
    ],
)
def test_a_target_is_taken_apart(raw: str, path: str, query: str) -> None:
    target = parse_target(raw)
    assert (target.path, target.query) == (path, query)


def test_the_url_keeps_the_query_as_sent_and_escapes_the_path() -> None:
    url = request_url("https", "h:1", parse_target("/a%20b/%41/c%2Fd/100%25/ü?x=%41&x"))
    assert url == "https://h:1/a%20b/A/c%2Fd/100%25/%C3%BC?x=%41&x"


@given(st.text(st.characters(codec="utf-8", exclude_characters="%"), max_size=40))
def test_any_path_text_survives_the_way_into_the_url(text: str) -> None:
    target = parse_target("/p/x" + quote(text, safe=""))
    assert parse_target(request_url("http", "h", target).removeprefix("http://h")) == target


@given(st.text(max_size=200))
def test_no_target_raises(raw: str) -> None:
    target = parse_target(raw)
    assert target.path.startswith("/") or not raw.startswith("/")
    parse_query(target.query)


@pytest.mark.parametrize(
    ("header", "scheme"),
    [
        (None, "http"),
        ("https", "https"),
        ("HTTPS , http", "https"),
        ("http,https", "http"),
        ("ftp", "http"),
        ("", "http"),
    ],
)
def test_the_first_forwarded_scheme_counts(header: str | None, scheme: str) -> None:
    assert scheme_of(header) == scheme


def test_headers_are_joined_in_order_under_lower_case_names() -> None:
    raw = [(b"X-A", b"1"), (b"Other", b" v "), (b"x-a", b"2")]
    assert join_headers(raw) == {"x-a": "1,2", "other": "v"}
