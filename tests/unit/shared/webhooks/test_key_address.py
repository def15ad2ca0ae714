"""Where published keys may lie."""

import pytest
from pydantic import TypeAdapter, ValidationError

from shared.webhooks.key_address import KeyAddress

ADDRESS = TypeAdapter(KeyAddress)


@pytest.mark.parametrize(
    "address",
    [
        "https://login.microsoftonline.com/common/discovery/keys?appid=1",
        "https://rest.fal.ai/.well-known/jwks.json",
        "https://keys.example:8443",
        "http://127.0.0.1:8080/keys",
        "http://localhost/keys",
        "http://[::1]:8080/keys",
    ],
)
def test_https_and_this_machine_are_taken(address: str) -> None:
    assert ADDRESS.validate_python(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "keys",
        "http://login.example/keys",
        "http://127.0.0.1.example/keys",
        "http://localhost@login.example/keys",
        "https://user:password@login.example/keys",
        "https://@login.example/keys",
        "https:///keys",
        "https://login.example/keys#x",
        "https://login.example/a b",
        "https://login.example/keys\n",
        "https://log\tin.example/keys",
        "https://login.example:port/keys",
        "https://login.exämple/keys",
        "file:///etc/passwd",
        "ftp://localhost/keys",
    ],
)
def test_any_other_address_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="an https address"):
        ADDRESS.validate_python(address)
