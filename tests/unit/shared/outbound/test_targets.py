"""Which links and callbacks may be connected to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from shared.outbound.targets import LONGEST, Refusal, TargetRefused, check_target, may_connect, named_in

ALLOWED = ("media.example.com", "*.cdn.example.com", "hooks.example.com:8443", "127.0.0.1:8080", "8.8.8.8")


def refusal(url: str, allowed: tuple[str, ...] = ALLOWED, private: tuple[str, ...] = ()) -> Refusal:
    with pytest.raises(TargetRefused) as caught:
        check_target(url, allowed=allowed, private=private)
    assert not url or url not in str(caught.value)
    return caught.value.reason


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://media.example.com/a/b.mp4?sig=abc", "media.example.com", 443),
        ("HTTPS://MEDIA.example.com:443", "media.example.com", 443),
        ("https://v3.cdn.example.com/x", "v3.cdn.example.com", 443),
        ("https://a.b.cdn.example.com/x", "a.b.cdn.example.com", 443),
        ("https://hooks.example.com:8443/in", "hooks.example.com", 8443),
        ("https://8.8.8.8/x", "8.8.8.8", 443),
    ],
)
def test_an_https_address_of_an_allowed_host_is_taken(url: str, host: str, port: int) -> None:
    target = check_target(url, allowed=ALLOWED, private=())
    assert (target.host, target.port, target.scheme) == (host, port, "https")
    assert url not in repr(target)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example.net/",
        "https://media.example.com.evil.net/",
        "https://cdn.example.com/",
        "https://notcdn.example.com/",
        "https://media.example.com:444/",
        "https://hooks.example.com/",
        "https://example.com/",
    ],
)
def test_another_host_or_port_is_refused(url: str) -> None:
    assert refusal(url) is Refusal.HOST_NOT_ALLOWED


@pytest.mark.parametrize(
    "url",
    [
        "",
        "media.example.com",
        "//media.example.com/",
        "ftp://media.example.com/",
        "file:///etc/passwd",
        "https://",
        "https://user@media.example.com/",
        "https://user:word@media.example.com/",
        "https://media.example.com@evil.net/",
        "https://media.example.com\\@evil.net/",
        "https://media.example.com /",
        "https://media.example.com/\r\nHost: evil.net",
        "https://media.example.com./",
        "https://media..example.com/",
        "https://%6dedia.example.com/",
        "https://\uff4dedia.example.com/",
        "https://media.example.com:0/",
        "https://media.example.com:99999/",
        "https://media.example.com:port/",
        "https://2130706433/",
        "https://127.1/",
        "https://0x7f.0x0.0x0.0x1/",
        "https://[::1%25lo]/",
        "https://[::1/",
        "https://media.example.com/" + "a" * LONGEST,
    ],
)
def test_what_parsers_may_read_differently_is_no_address(url: str) -> None:
    assert refusal(url) is Refusal.NOT_AN_ADDRESS


def test_http_is_for_a_loopback_host_that_the_setting_names() -> None:
    url = "http://127.0.0.1:8080/a"
    assert refusal(url) is Refusal.NOT_HTTPS
    assert check_target(url, allowed=ALLOWED, private=("127.0.0.1",)).port == 8080
    assert check_target(url, allowed=ALLOWED, private=("127.0.0.1:8080",)).port == 8080
    assert refusal(url, private=("127.0.0.1:8081",)) is Refusal.NOT_HTTPS
    named = "http://media.example.com/"
    assert refusal(named, ("media.example.com:80",), ("media.example.com",)) is Refusal.NOT_HTTPS


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "169.254.169.254", "127.0.0.1", "[::1]", "[fd00::1]", "[::ffff:10.0.0.1]"]
)
def test_a_private_address_is_refused_though_its_host_is_allowed(host: str) -> None:
    assert refusal(f"https://{host}/", (host,)) is Refusal.NOT_PUBLIC
    assert check_target(f"https://{host}/", allowed=(host,), private=(host,)).port == 443


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (["8.8.8.8"], True),
        (["8.8.8.8", "2606:4700::1111"], True),
        (["8.8.8.8", "10.0.0.1"], False),
        (["fe80::1%eth0"], False),
        (["no address"], False),
        ([], False),
    ],
)
def test_every_address_of_a_name_must_be_public(addresses: list[str], expected: bool) -> None:
    assert may_connect("media.example.com", 443, addresses, ()) is expected


def test_a_host_of_the_setting_may_have_a_private_address() -> None:
    assert may_connect("inner.example.com", 8443, ["10.0.0.1"], ("Inner.example.com",))
    assert not may_connect("inner.example.com", 8443, ["10.0.0.1"], ("inner.example.com:443",))
    assert not may_connect("inner.example.com", 8443, [], ("inner.example.com",))


def test_an_ipv6_entry_may_have_a_port() -> None:
    assert named_in("::1", 443, ["::1"])
    assert named_in("::1", 8080, ["[::1]:8080"])
    assert not named_in("::1", 8081, ["[::1]:8080"])


@given(st.text(max_size=60).map("https://media.example.com".__add__) | st.text(max_size=80))
def test_any_text_is_either_refused_or_read_alike_by_the_client(text: str) -> None:
    """The HTTP client takes addresses apart with yarl."""
    try:
        target = check_target(text, allowed=ALLOWED, private=())
    except TargetRefused:
        return
    url = URL(target.url)
    assert (url.scheme, url.host, url.port) == (target.scheme, target.host, target.port)
