"""Twilio: https://www.twilio.com/docs/usage/webhooks/webhooks-security"""

import base64
import hashlib
import hmac
from datetime import datetime
from urllib.parse import parse_qsl

from devhost.senders import FORM, JSON, Sent

ALGORITHMS = {"HMAC_SHA1": hashlib.sha1, "HMAC_SHA256": hashlib.sha256}


def signed(
    body: bytes,
    secret: str,
    *,
    now: datetime,  # noqa: ARG001  Twilio signs no time
    public_url: str = "https://hooks.example.com/api/webhooks/twilio",
    query: str = "",
    shared_key: str | None = None,
    algorithm: str = "HMAC_SHA256",
) -> Sent:
    """JSON goes with the hash of the body in the query, anything else as a form.

    `public_url` is the address as the receiver's configuration has it. With `shared_key`, its id, `secret` is
    that key and signs with `algorithm`; without it, `secret` is the account's auth token.
    """
    json = body.lstrip()[:1] in {b"{", b"["}
    if json:
        query = "&".join(filter(None, [query, f"bodySHA256={hashlib.sha256(body).hexdigest()}"]))
    url = f"{public_url}?{query}" if query else public_url
    headers = {"content-type": JSON if json else f"{FORM}; charset=UTF-8"}
    if shared_key is not None:
        headers["x-twilio-webhooks-signature-settings"] = f"key={shared_key},algorithm={algorithm}"
    used = "HMAC_SHA1" if shared_key is None else algorithm
    headers["x-twilio-signature"] = signature(url, b"" if json else body, secret, used)
    return headers, query, body


def signature(url: str, form: bytes, secret: str, algorithm: str = "HMAC_SHA1") -> str:
    """Over the address and, sorted by name, each field's name and value."""
    fields = sorted(set(parse_qsl(form.decode("ascii"), keep_blank_values=True, errors="strict")))
    text = url + "".join(name + value for name, value in fields)
    mac = hmac.new(secret.encode(), text.encode(), ALGORITHMS[algorithm])
    return base64.b64encode(mac.digest()).decode()
