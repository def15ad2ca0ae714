"""Signing as a sender of Standard Webhooks: checked by our own receiving side and a published vector."""

from datetime import UTC, datetime, timedelta

import pytest

from shared.notify.signing import signed_headers, signing_keys
from shared.webhooks.base import Options, Trust, UnusableSecret, WebhookRequest
from shared.webhooks.standard import Standard

OLD, NEW = "whsec_" + "QUFB" * 10, "whsec_" + "QkJC" * 10
AT = datetime(2026, 7, 27, 10, 15, 0, 900_000, tzinfo=UTC)


def received(headers: dict[str, str], body: bytes, secret: str) -> int | None:
    """The index of the key that a receiver with this one secret finds. Raises BadSignature."""
    request = WebhookRequest(
        method="POST",
        headers={"content-type": "application/json", **headers},
        query="",
        url="https://hooks.example.com/",
        body=body,
    )
    key = Standard().load_key(secret, Options())
    trust = Trust(keys=(key,), now=AT, tolerance=timedelta(minutes=5), options=Options())
    return Standard().verify(request, trust).secret_index


def test_a_receiver_finds_the_signature_right() -> None:
    headers = dict(signed_headers(signing_keys(NEW), "msg_1", AT, b'{"a":1}'))
    assert received(headers, b'{"a":1}', NEW) == 0
    assert headers["webhook-timestamp"] == str(int(AT.timestamp()))


def test_the_standards_own_example_comes_out() -> None:
    # https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
    keys = signing_keys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    at = datetime.fromtimestamp(1614265330, UTC)
    headers = signed_headers(keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_while_a_secret_is_changed_receivers_of_either_are_content(secret: str) -> None:
    headers = dict(signed_headers(signing_keys(f" {NEW}  {OLD}\n"), "msg_1", AT, b"{}"))
    assert received(headers, b"{}", secret) == 0


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "  ",
        "whsec_",
        "whsec_short",
        "change-me-please",
        f"{NEW} change-me",
        "@Microsoft.KeyVault(SecretUri=https://vault.example.com/secrets/a)",
        " ".join([NEW] * 6),
        "whpk_" + "QUFB" * 10,
        "sk_live_" + "a" * 40,
    ],
)
def test_an_unusable_secret_is_refused_without_being_shown(value: str | None) -> None:
    with pytest.raises(UnusableSecret) as caught:
        signing_keys(value)
    assert value is None or not value.strip() or value.strip() not in str(caught.value)
