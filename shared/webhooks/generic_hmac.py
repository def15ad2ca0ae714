"""Any other sender that signs with an HMAC: the form of its signature is described in pipeline.toml."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal

import jmespath
from pydantic import AfterValidator, Field, model_validator

from shared.pipeline.values import Expression
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
from shared.webhooks.expressions import EVALUATION_ERRORS
from shared.webhooks.freshness import check_freshness
from shared.webhooks.identity import body_id, event_label
from shared.webhooks.parsing import parse_object, require_json
from shared.webhooks.rejections import BadSignature, MalformedBody
from shared.webhooks.signatures import SHORTEST_SECRET, matching_key
from shared.webhooks.times import iso_time, unix_time

Header = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$"), AfterValidator(str.lower)]
_PLACE = re.compile(r"\{(timestamp|id|body)\}")
_TIME = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)
_ALGORITHMS: dict[str, Callable[..., Any]] = {
    "sha256": hashlib.sha256,
    "sha512": hashlib.sha512,
    "sha1": hashlib.sha1,
}


def _template(value: str) -> str:
    places = _PLACE.findall(value)
    rest = _PLACE.sub("", value)
    if places.count("body") != 1 or len(set(places)) != len(places) or "{" in rest or "}" in rest:
        raise ValueError("a text with {body} once, and at most once {timestamp} and {id}")
    return value


class HmacOptions(Options):
    """`signed` is what is signed; what it names must have its header. Without `id` the body is the id."""

    header: Header
    prefix: Annotated[str, Field(max_length=64)] = ""
    algorithm: Literal["sha256", "sha512", "sha1"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    key_encoding: Literal["text", "base64", "hex"] = "text"
    signed: Annotated[str, AfterValidator(_template)] = "{body}"
    timestamp_header: Header | None = None
    id_header: Header | None = None
    type_header: Header | None = None
    id: Expression | None = None
    type: Expression | None = None
    account: Expression | None = None
    time: Expression | None = None

    @model_validator(mode="after")
    def _complete(self) -> "HmacOptions":
        for place, header in (("timestamp", self.timestamp_header), ("id", self.id_header)):
            if f"{{{place}}}" in self.signed and header is None:
                raise ValueError(f'"{place}_header", as "signed" names {{{place}}}')
        if self.timestamp_header is not None and "{timestamp}" not in self.signed:
            raise ValueError('"signed" with {timestamp}: a time that is not signed proves nothing')
        if self.type is not None and self.type_header is not None:
            raise ValueError('"type" or "type_header", not both')
        return self


class GenericHmac(Scheme[HmacOptions]):
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
        parts = list(_signed_parts(request, options))
        index = matching_key(trust.keys, [candidate], lambda key: _signature(key, parts, options))
        if index is None:
            raise BadSignature("The source's signature header does not match the request.")
        if options.timestamp_header is not None:
            check_freshness(int(request.headers[options.timestamp_header]), trust)
        return Verified(secret_index=index)

    def read(self, request: WebhookRequest, trust: Trust[HmacOptions]) -> tuple[WebhookEvent, ...]:
        require_json(request)
        options = trust.options
        payload = parse_object(request.body)
        kind = request.headers.get(options.type_header, "") if options.type_header else ""
        event_id = request.headers.get(options.id_header, "") if options.id_header else ""
        at = _found(options.time, payload)
        return (
            WebhookEvent(
                event_id=clean_text(event_id or _text(options.id, payload)) or body_id(request.body),
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
    try:
        return bytes.fromhex(secret) if encoding == "hex" else base64.b64decode(secret, validate=True)
    except ValueError:
        raise UnusableSecret(f"it is not {encoding}") from None


def _signed_parts(request: WebhookRequest, options: HmacOptions) -> Iterator[bytes]:
    """What was signed, piece by piece."""
    for index, piece in enumerate(_PLACE.split(options.signed)):
        if index % 2 == 0:
            yield piece.encode()
        elif piece == "body":
            yield request.body
        else:
            yield _named_header(request, options, piece)


def _named_header(request: WebhookRequest, options: HmacOptions, place: str) -> bytes:
    name = options.timestamp_header if place == "timestamp" else options.id_header
    value = request.headers.get(name or "", "")
    if not value or (place == "timestamp" and not _TIME.fullmatch(value)):
        raise BadSignature(f"The source's header with the {place} is missing or of another form.")
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
    try:
        return None if expression is None else jmespath.compile(expression).search(payload)
    except EVALUATION_ERRORS:
        raise MalformedBody("An expression of the source does not work on the body.") from None
