"""Signing what is posted, as Standard Webhooks (v1, HMAC-SHA256) asks of a sender.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
from collections.abc import Mapping, Sequence
from datetime import datetime

from shared.settings import UNRESOLVED_REFERENCE
from shared.webhooks.base import Options, UnusableSecret
from shared.webhooks.ed25519 import PublicKey
from shared.webhooks.secrets import PLACEHOLDER
from shared.webhooks.signatures import hmac_sha256
from shared.webhooks.standard import Standard

MOST_KEYS = 5


def signing_keys(setting: str | None) -> tuple[bytes, ...]:
    """The keys in a setting's value: one `whsec_<base64>`, or several with spaces while one is changed.

    Raises UnusableSecret, which never quotes the value.
    """
    words = (setting or "").split()
    if not words:
        raise UnusableSecret("it is not set")
    if words[0].startswith(UNRESOLVED_REFERENCE):
        raise UnusableSecret("its Key Vault reference was not resolved")
    if any(word.lower().startswith(PLACEHOLDER) for word in words):
        raise UnusableSecret("it is still the sample's placeholder")
    if len(words) > MOST_KEYS:
        raise UnusableSecret(f"it holds more than {MOST_KEYS} secrets")
    keys = tuple(Standard().load_key(word, Options()) for word in words)
    if any(isinstance(key, PublicKey) for key in keys):
        raise UnusableSecret("it is a public key; a secret `whsec_` is wanted")
    return keys


def signed_headers(keys: Sequence[bytes], webhook_id: str, at: datetime, body: bytes) -> Mapping[str, str]:
    """The three headers. `at` is the attempt's time: receivers refuse what was signed long ago."""
    stamp = str(int(at.timestamp()))
    signed = (webhook_id.encode(), b".", stamp.encode(), b".", body)
    signatures = ["v1," + base64.b64encode(hmac_sha256(key, *signed)).decode() for key in keys]
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": stamp,
        "webhook-signature": " ".join(signatures),
    }
