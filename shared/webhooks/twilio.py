"""Twilio: the HMAC of the public URL and the form's fields in `X-Twilio-Signature`; no time.

Sources: https://www.twilio.com/docs/usage/security ,
https://www.twilio.com/docs/usage/webhooks/webhooks-security and
https://www.twilio.com/docs/usage/webhooks/webhook-shared-keys
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar
from urllib.parse import parse_qs

from pydantic import Field

from shared.pipeline.values import SettingName
from shared.sizes import KIB
from shared.webhooks.base import Options, Reply, Scheme, Trust, Verified, WebhookEvent, WebhookRequest
from shared.webhooks.parsing import FORM, media_type, require_identity_encoding
from shared.webhooks.rejections import BadSignature, BodyTooLarge, MalformedBody, UnsupportedMediaType
from shared.webhooks.signatures import matching_key, text_key
from shared.webhooks.twilio_events import read_events, signed_text
from shared.webhooks.twilio_urls import PublicUrl, spellings

AccountSid = Annotated[str, Field(pattern=r"^AC[0-9a-fA-F]{32}$")]
_LARGEST_FORM = 256 * KIB
"""Whatever the source's max_body: a form is read before its signature is known to be right, for anybody who
sends one. Twilio's have short fields; the longest, a message's text, has 1,600 characters.
"""
_MISMATCH = (
    "X-Twilio-Signature does not match the public URL and the body. Compare public_url and the auth token."
)
_HASHES = {"HMAC_SHA256": hashlib.sha256, "HMAC_SHA1": hashlib.sha1}
_TWIML = Reply(
    status=200,
    body=b'<?xml version="1.0" encoding="UTF-8"?><Response/>',
    content_type="text/xml; charset=utf-8",
)


class TwilioOptions(Options):
    """`public_url` is the address as it stands at Twilio, without its query.

    `accounts` are the accounts whose webhooks are taken. `shared_keys` names the setting of each key that a
    webhook rule signs with.
    """

    public_url: PublicUrl
    accounts: Annotated[list[AccountSid], Field(min_length=1, max_length=100)]
    shared_keys: Annotated[dict[str, SettingName], Field(default_factory=dict, max_length=10)]

    def named_secrets(self) -> Mapping[str, str]:
        return self.shared_keys


class Twilio(Scheme[TwilioOptions]):
    """The key is the text of the account's primary auth token, or of a shared key."""

    name: ClassVar[str] = "twilio"
    answer_within: ClassVar[float] = 4.0  # a sink of Event Streams waits five
    options: ClassVar[type[Options]] = TwilioOptions
    users_are_numbers: ClassVar[bool] = True  # `WaId` is a telephone number without a plus

    def load_key(self, secret: str, options: TwilioOptions) -> bytes:  # noqa: ARG002  the scheme's interface
        return text_key(secret)

    def wants_secrets(self, options: TwilioOptions) -> bool:
        return not options.shared_keys

    def answer(self, request: WebhookRequest) -> Reply | None:  # noqa: ARG002  always
        """Twilio reads the answer as instructions: an empty one tells it to do nothing more."""
        return _TWIML

    def verify(self, request: WebhookRequest, trust: Trust[TwilioOptions]) -> Verified:
        given = request.headers.get("x-twilio-signature", "")
        if not given:
            raise BadSignature("X-Twilio-Signature is missing.")
        candidate = given.encode("utf-8", "surrogatepass")
        body = _signed_body(request)
        signed = [url + body for url in _urls(request, trust.options)]
        settings = request.headers.get("x-twilio-webhooks-signature-settings")
        if settings is not None:
            return _verify_shared(settings, candidate, signed, trust.named)
        for text in signed:
            index = matching_key(trust.keys, [candidate], lambda key, text=text: _mac(key, text, "HMAC_SHA1"))  # type: ignore[misc]  # a default binds the loop's value
            if index is not None:
                return Verified(secret_index=index)
        raise BadSignature(_MISMATCH)

    def read(self, request: WebhookRequest, trust: Trust[TwilioOptions]) -> tuple[WebhookEvent, ...]:
        require_identity_encoding(request)
        return read_events(request, trust.options.accounts)


def _verify_shared(
    settings: str, candidate: bytes, signed: Sequence[bytes], keys: Mapping[str, bytes]
) -> Verified:
    """Signed with the key that the header names: it can choose among the shared keys, nothing else."""
    pairs = [tuple(part.strip() for part in pair.partition("=")) for pair in settings.split(",")]
    given = {name: value for name, _, value in pairs}
    name, algorithm = given.get("key", ""), given.get("algorithm", "")
    key = keys.get(name)
    if len(given) != len(pairs) or key is None or algorithm not in _HASHES:
        raise BadSignature("X-Twilio-Webhooks-Signature-Settings names a key or algorithm unknown here.")
    if not any(hmac.compare_digest(_mac(key, text, algorithm), candidate) for text in signed):
        raise BadSignature(_MISMATCH)
    return Verified(secret_index=None, named=name)


def _mac(key: bytes, text: bytes, algorithm: str) -> bytes:
    return base64.b64encode(hmac.new(key, text, _HASHES[algorithm]).digest())


def _urls(request: WebhookRequest, options: TwilioOptions) -> list[bytes]:
    return [url.encode("utf-8", "surrogatepass") for url in spellings(options.public_url, request.query)]


def _signed_body(request: WebhookRequest) -> bytes:
    """What follows the URL: a form's fields; nothing where the URL carries the hash of the body."""
    hashes = _body_hashes(request.query)
    if hashes:
        actual = hashlib.sha256(request.body).hexdigest().encode()
        if len(hashes) != 1 or not hmac.compare_digest(hashes[0].encode("utf-8", "surrogatepass"), actual):
            raise BadSignature("bodySHA256 in the query is not the hash of the body.")
        return b""
    try:
        if media_type(request) != FORM:
            raise BadSignature(
                "The body is no form and the query has no bodySHA256: nothing covers the body."
            )
        if len(request.body) > _LARGEST_FORM:
            raise BodyTooLarge(f"The body is a form over {_LARGEST_FORM:,} bytes.")
        return signed_text(request.body)
    except (MalformedBody, UnsupportedMediaType):
        raise BadSignature(
            "The body is no form in UTF-8, or of too many fields, so it is not what Twilio signed."
        ) from None


def _body_hashes(query: str) -> list[str]:
    try:
        return parse_qs(query, keep_blank_values=True, max_num_fields=100).get("bodySHA256", [])
    except ValueError:
        raise BadSignature("The query has too many fields.") from None
