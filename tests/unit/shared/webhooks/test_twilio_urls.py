"""The public URL as it stands at Twilio, and the few spellings of it that Twilio may have signed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from shared.webhooks.twilio_urls import PublicUrl, spellings

PUBLIC_URL = TypeAdapter(PublicUrl)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/api/webhooks/twilio",
        "https://hooks.example.com",
        "https://hooks.example.com:8443/a/",
        "http://localhost:7071/api/webhooks/twilio",
        "https://[2001:db8::1]:443/a",
        "https://Hooks.Example.com/A%20b/@:;,=+$&'*",
    ],
)
def test_an_address_without_user_query_and_fragment_is_taken_as_it_is(url: str) -> None:
    assert PUBLIC_URL.validate_python(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example.com/a",
        "ftp://hooks.example.com/a",
        "wss://hooks.example.com/a",
        "https:///a",
        "https://hooks.example.com/a?",
        "https://hooks.example.com/a?b=1",
        "https://hooks.example.com/a#rc=2",
        "https://user:password@hooks.example.com/a",
        "https://@hooks.example.com/a",
        "https://hooks.example.com:/a",
        "https://hooks.example.com:0/a",
        "https://hooks.example.com:99999/a",
        "https://hooks.example.com:port/a",
        "https://hooks.example.com/a b",
        "https://hooks.example.com/a\n",
        "https://hooks.exam\nple.com/a",
        "https://hooks.exämple.com/a",
        "https://[::1/a",
    ],
)
def test_what_twilio_would_sign_in_another_form_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="without a query"):
        PUBLIC_URL.validate_python(url)


@pytest.mark.case(69)
@pytest.mark.parametrize(
    ("url", "others"),
    [
        ("https://example.com/a", ["https://example.com:443/a"]),
        ("https://example.com:443/a", ["https://example.com/a"]),
        ("http://example.com/a", ["http://example.com:80/a"]),
        ("http://example.com:80/a", ["http://example.com/a"]),
        ("http://example.com:443/a", []),
        ("https://example.com:80/a", []),
        ("https://example.com:1234/a", []),
        ("https://[2001:db8::1]/a", ["https://[2001:db8::1]:443/a"]),
        ("https://[2001:db8::1]:443/a", ["https://[2001:db8::1]/a"]),
        ("https://example.com", ["https://example.com:443"]),
    ],
)
def test_only_the_standard_port_may_come_or_go(url: str, others: list[str]) -> None:
    assert spellings(url, "") == [url, *others]
    assert spellings(url, "b=1") == [f"{found}?b=1" for found in (url, *others)]


@pytest.mark.case(70)
def test_three_characters_of_the_query_may_have_been_escaped_after_signing() -> None:
    url, query = "https://example.com:8443/a", "Body=it%27s&Caller=sip%3Aa%40b%3a&Other=%C3%A9%2B+%20"
    assert spellings(url, query) == [f"{url}?{query}", f"{url}?Body=it's&Caller=sip:a@b:&Other=%C3%A9%2B+%20"]


@pytest.mark.case(81)
def test_the_path_is_never_cleaned_up() -> None:
    for path in ("/x", "/x/", "//x", "/x/../y", "/a+b", "/a%20b", "/index.html"):
        assert all(
            f".com{path}" in found.replace(":443", "") for found in spellings(f"https://e.com{path}", "")
        )


@given(query=st.text(st.characters(exclude_categories=[]), max_size=60))
def test_whatever_the_query_there_are_at_most_four_spellings(query: str) -> None:
    found = spellings("https://example.com/a", query)
    assert 2 <= len(found) <= 4
    assert len(set(found)) == len(found)
