"""Where the outside may send to."""

import pytest

from devhost.outside.loopback import is_loopback


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8/x", "http://localhost/", "http://[::1]:8/", "http://127.9.9.9/"]
)
def test_this_machine_is_loopback(url: str) -> None:
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://127.0.0.1/",
        "http://10.0.0.1/",
        "http://169.254.169.254/",
        "http://example.com/",
        "http://127.0.0.1.example.com/",
        "http://127.0.0.1@example.com/",
        "http://[::1/",
        "http://127.0.0.1:99999/",
        "http://127.1/",
        "file:///etc/passwd",
    ],
)
def test_all_else_is_not(url: str) -> None:
    assert not is_loopback(url)
