"""The job token in a callback's address: whom it is for, until when, and a MAC that only this app can make.

It gives the right to have one job looked at, and no other. Base64url of 68 bytes: version, expiry, release,
job id, HMAC-SHA256.
"""

import base64
import binascii
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.jobs import JOB_ID
from shared.webhooks.signatures import hmac_sha256

_VERSION = b"\x01"
_PURPOSE = b"afterhook/callback-token/1"
_PREFIX = "job_"
_EXPIRY, _RELEASE, _ID, _MAC = 5, 4, 26, 32  # bytes
_PAYLOAD = len(_VERSION) + _EXPIRY + _RELEASE + _ID
LENGTH = 91  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackToken:
    """`expires_at` has whole seconds."""

    job_id: str
    release: int
    expires_at: datetime


def issue(token: CallbackToken, secret: bytes) -> str:
    """The token as text for a path; the same for the same token."""
    payload = _payload(token)
    return base64.urlsafe_b64encode(payload + _mac(payload, secret)).decode().rstrip("=")


def read_token(text: str, secret: bytes) -> CallbackToken | None:
    """The token, expired or not; None for text that this app did not issue under `secret`."""
    raw = _decoded(text)
    if raw is None:
        return None
    payload, mac = raw[:_PAYLOAD], raw[_PAYLOAD:]
    if not hmac.compare_digest(mac, _mac(payload, secret)):
        return None
    return _token(payload)


def looks_issued(text: str) -> bool:
    """Whether `text` has the form of a token, whoever made it."""
    return _decoded(text) is not None


def _payload(token: CallbackToken) -> bytes:
    if not JOB_ID.fullmatch(token.job_id):
        raise ValueError("The token is for a job's id.")
    expiry = int(token.expires_at.timestamp()).to_bytes(_EXPIRY, "big")
    release = token.release.to_bytes(_RELEASE, "big")
    return _VERSION + expiry + release + token.job_id.removeprefix(_PREFIX).encode()


def _token(payload: bytes) -> CallbackToken:
    expiry, rest = payload[1 : 1 + _EXPIRY], payload[1 + _EXPIRY :]
    return CallbackToken(
        job_id=_PREFIX + rest[_RELEASE:].decode(),
        release=int.from_bytes(rest[:_RELEASE], "big"),
        expires_at=datetime.fromtimestamp(int.from_bytes(expiry, "big"), UTC),
    )


def _mac(payload: bytes, secret: bytes) -> bytes:
    """Under a key of its own, so that the setting's secret signs nothing else in this form."""
    return hmac_sha256(hmac_sha256(secret, _PURPOSE), payload)


def _decoded(text: str) -> bytes | None:
    """The bytes of text in the one spelling that `issue` gives them."""
    if len(text) != LENGTH or not text.isascii():
        return None
    try:
        raw = base64.urlsafe_b64decode(text + "=")
    except (binascii.Error, ValueError):
        return None
    same = base64.urlsafe_b64encode(raw).decode().rstrip("=") == text
    return raw if same and len(raw) == _PAYLOAD + _MAC and raw[:1] == _VERSION else None
