"""Any sender that signs with an HMAC, described as in pipeline.toml."""

import base64
import hashlib
import hmac
from collections.abc import Callable
from datetime import UTC, datetime

from devhost.senders import JSON, Sent

_TIMES: dict[str, Callable[[datetime], str]] = {
    "seconds": lambda now: str(int(now.timestamp())),
    "milliseconds": lambda now: str(int(now.timestamp() * 1000)),
    "iso8601": lambda now: now.astimezone(UTC).isoformat().replace("+00:00", "Z"),
}


def signed(
    body: bytes,
    secret: str,
    *,
    now: datetime,
    header: str = "X-Signature",
    prefix: str = "",
    algorithm: str = "sha256",
    encoding: str = "hex",
    key_encoding: str = "text",
    signed: str = "{body}",
    timestamp_header: str | None = None,
    timestamp_format: str = "seconds",
    id_header: str | None = None,
    message_id: str | None = None,
    type_header: str | None = None,
    event_type: str = "event",
) -> Sent:
    """The options are those of the source; `message_id` and `event_type` are what their headers then hold."""
    identity = message_id or f"id-{hashlib.sha256(body).hexdigest()[:24]}"
    time = _TIMES[timestamp_format](now)
    message = b""
    rest = signed
    while rest:
        text, brace, rest = rest.partition("{")
        place, _, rest = rest.partition("}") if brace else ("", "", "")
        named = {"body": body, "id": identity.encode(), "timestamp": time.encode(), "": b""}
        message += text.encode() + named[place]
    mac = hmac.new(_key(secret, key_encoding), message, algorithm)
    shown = mac.hexdigest() if encoding == "hex" else base64.b64encode(mac.digest()).decode()
    headers = {"content-type": JSON, header.lower(): prefix + shown}
    further = ((timestamp_header, time), (id_header, identity), (type_header, event_type))
    headers |= {name.lower(): value for name, value in further if name is not None}
    return headers, "", body


def _key(secret: str, encoding: str) -> bytes:
    if encoding == "hex":
        return bytes.fromhex(secret)
    return base64.b64decode(secret, validate=True) if encoding == "base64" else secret.encode()
