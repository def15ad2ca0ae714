"""The same verdict as the `standardwebhooks` library, but for differences that are meant.

Differences: base64 of a signature must be canonical (the library drops foreign characters); a timestamp must
be a whole number (the library takes `1.5` and signs 1); a malformed entry is skipped (the library raises
ValueError); only the first ten v1 signatures are tried; a body need not be UTF-8 to be refused or accepted
(the library raises UnicodeDecodeError); keys must have 24 to 64 bytes.
"""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from shared.webhooks.base import Options
from shared.webhooks.rejections import WebhookRejected
from shared.webhooks.standard import Standard
from tests.unit.shared.webhooks.requests import standard_request, standard_signature, trust

pytestmark = pytest.mark.oracle

SCHEME = Standard()
PRINTABLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)
SIGNATURE_ENTRIES = st.sampled_from(["good", "other-key", "v2,AAAA", "v1a,AAAA", "v1,AAAA", "v1,"])


def theirs(secret: str, body: bytes, headers: dict[str, str]) -> bool:
    try:
        Webhook(secret).verify(body, headers, json_parse=False)
    except WebhookVerificationError:
        return False
    return True


def ours(secret: str, body: bytes, headers: dict[str, str], now: datetime) -> bool:
    incoming = standard_request(
        body,
        message_id=headers["webhook-id"],
        timestamp=headers["webhook-timestamp"],
        signature=headers["webhook-signature"],
    )
    try:
        SCHEME.verify(incoming, trust(SCHEME.load_key(secret, Options()), now=now))
    except WebhookRejected:
        return False
    return True


@settings(max_examples=1000)
@given(
    key=st.binary(min_size=24, max_size=64),
    body=st.text(st.characters(codec="utf-8"), max_size=200),
    message_id=PRINTABLE,
    skew=st.integers(-280, 280) | st.integers(320, 10**6) | st.integers(-(10**6), -320),
    entries=st.lists(SIGNATURE_ENTRIES, min_size=1, max_size=10),
    prefix=st.sampled_from(["whsec_", ""]),
    padded=st.booleans(),
)
def test_the_verdict_is_the_librarys(
    key: bytes, body: str, message_id: str, skew: int, entries: list[str], prefix: str, padded: bool
) -> None:
    now = datetime.now(UTC)
    timestamp = str(int((now + timedelta(seconds=skew)).timestamp()))
    made = {
        "good": standard_signature(message_id, timestamp, body.encode(), key),
        "other-key": standard_signature(message_id, timestamp, body.encode(), key[::-1] + b"x"),
    }
    headers = {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(made.get(entry, entry) for entry in entries),
    }
    encoded = base64.b64encode(key).decode()
    secret = prefix + (encoded if padded else encoded.rstrip("="))
    verdict = ours(secret, body.encode(), headers, now)
    assert verdict == theirs(secret, body.encode(), headers)
    assert verdict == ("good" in entries and abs(skew) < 300)


@given(
    key=st.binary(min_size=24, max_size=64), body=st.text(st.characters(codec="utf-8")), message_id=PRINTABLE
)
def test_what_the_library_signs_is_accepted(key: bytes, body: str, message_id: str) -> None:
    secret = f"whsec_{base64.b64encode(key).decode()}"
    now = datetime.now(UTC)
    headers = {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(message_id, now, body),
    }
    assert ours(secret, body.encode(), headers, now)


def test_the_library_drops_foreign_characters_and_we_do_not() -> None:
    secret = f"whsec_{base64.b64encode(bytes(24)).decode()}"
    now = datetime.now(UTC)
    timestamp = str(int(now.timestamp()))
    good = standard_signature("msg_1", timestamp, b"{}", bytes(24))
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": timestamp,
        "webhook-signature": good[:9] + "!" + good[9:],
    }
    assert theirs(secret, b"{}", headers)
    assert not ours(secret, b"{}", headers, now)
