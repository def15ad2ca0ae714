"""Any other sender that signs with an HMAC: the form of its signature is described in pipeline.toml."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import jmespath

from shared.printable import clean_text
from shared.webhooks.base import (
    Options,
    Scheme,
    Trust,
    UnusableSecret,
    Verified,
    WebhookEvent,
    WebhookRequest,
)
from shared.webhooks.expressions import EVALUATION_ERRORS, searched
from shared.webhooks.freshness import check_freshness
from shared.webhooks.hmac_options import PLACE, HmacOptions
from shared.webhooks.identity import body_id, event_label
from shared.webhooks.parsing import parse_object, require_json
from shared.webhooks.rejections import BadSignature, MalformedBody
from shared.webhooks.signatures import SHORTEST_SECRET, canonical_base64, matching_key
from shared.webhooks.times import iso_time, unix_time

_TIME = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)
_MISMATCH = "The source's signature header does not match the request. Compare the secret and what is signed."
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+", re.ASCII)
_ALGORITHMS: dict[str, Callable[..., Any]] = {
    "sha256": hashlib.sha256,
    "sha512": hashlib.sha512,
    "sha1": hashlib.sha1,
}


class GenericHmac(Scheme[HmacOptions]):
    """One signature a request; what is signed and how it is written follow from the options alone."""

    name: ClassVar[str] = "hmac"
    options: ClassVar[type[Options]] = HmacOptions

    def load_key(self, secret: str, options: HmacOptions) -> bytes:
        key = _decoded(secret, options.key_encoding)
        if len(key) < SHORTEST_SECRET:
            raise UnusableSecret(f"its key is shorter than {SHORTEST_SECRET} bytes")
        return key

    def signs_time(self, options: HmacOptions) -> bool:
        return options.timestamp_header is not None

    def verify(self, request: WebhookRequest, trust: Trust[HmacOptions]) -> Verified:
        options = trust.options
        given = request.headers.get(options.header, "")
        if not given.startswith(options.prefix) or given == options.prefix:
            raise BadSignature("The source's signature header is missing or of another form.")
        candidate = given.removeprefix(options.prefix).encode("utf-8", "surrogatepass")
        time = _signed_time(request, options)
        parts = list(_signed_parts(request, options))
        index = matching_key(trust.keys, [candidate], lambda key: _signature(key, parts, options))
        if index is None:
            raise BadSignature(_MISMATCH)
        if time is not None:
            check_freshness(time, trust)
        return Verified(secret_index=index)

    def read(self, request: WebhookRequest, trust: Trust[HmacOptions]) -> tuple[WebhookEvent, ...]:
        """The id is what `id` finds in the signed body; else the id header's; else the body itself."""
        require_json(request)
        options = trust.options
        payload = parse_object(request.body)
        kind = request.headers.get(options.type_header, "") if options.type_header else ""
        event_id = request.headers.get(options.id_header, "") if options.id_header else ""
        at = _found(options.time, payload)
        return (
            WebhookEvent(
                event_id=_text(options.id, payload) or clean_text(event_id) or body_id(request.body),
                event_type=event_label(kind or _text(options.type, payload)),
                account=_text(options.account, payload),
                event_time=unix_time(at) or iso_time(at),
                payload=payload,
                raw=request.body,
            ),
        )


def _decoded(secret: str, encoding: str) -> bytes:
    if encoding == "text":
        return secret.encode()
    if encoding == "hex":
        key = bytes.fromhex(secret) if _HEX.fullmatch(secret) else None
    else:
        key = canonical_base64(secret)
    if key is None:
        raise UnusableSecret(f"it is not {encoding}")
    return key


def _signed_time(request: WebhookRequest, options: HmacOptions) -> float | None:
    """Seconds since 1970; None where the source signs no time. Raises BadSignature."""
    if options.timestamp_header is None:
        return None
    text = request.headers.get(options.timestamp_header, "")
    if options.timestamp_format == "iso8601":
        time = iso_time(text)
        if time is not None:
            return time.timestamp()
    elif _TIME.fullmatch(text):
        return int(text) / (1000 if options.timestamp_format == "milliseconds" else 1)
    raise BadSignature("The source's header with the timestamp is missing or of another form.")


def _signed_parts(request: WebhookRequest, options: HmacOptions) -> Iterator[bytes]:
    """What was signed, piece by piece."""
    for index, piece in enumerate(PLACE.split(options.signed)):
        if index % 2 == 0:
            yield piece.encode()
        elif piece == "body":
            yield request.body
        else:
            yield _named_header(request, options, piece)


def _named_header(request: WebhookRequest, options: HmacOptions, place: str) -> bytes:
    name = options.timestamp_header if place == "timestamp" else options.id_header
    value = request.headers.get(name or "", "")
    if not value:
        raise BadSignature(f"The source's header with the {place} is missing.")
    return value.encode("utf-8", "surrogatepass")


def _signature(key: bytes, parts: list[bytes], options: HmacOptions) -> bytes:
    mac = hmac.new(key, digestmod=_ALGORITHMS[options.algorithm])
    for part in parts:
        mac.update(part)
    return mac.hexdigest().encode() if options.encoding == "hex" else base64.b64encode(mac.digest())


def _text(expression: str | None, payload: dict[str, Any]) -> str:
    """What the expression finds, when that is text or a whole number; else nothing."""
    found = _found(expression, payload)
    if isinstance(found, bool) or not isinstance(found, str | int):
        return ""
    return clean_text(str(found))


def _found(expression: str | None, payload: dict[str, Any]) -> Any:
    if expression is None:
        return None
    try:
        return jmespath.compile(expression).search(searched(expression, payload))
    except EVALUATION_ERRORS:
        raise MalformedBody("An expression of the source does not work on the body.") from None
