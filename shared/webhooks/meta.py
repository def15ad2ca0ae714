"""Meta (WhatsApp Cloud API, Messenger, Instagram): GitHub's form of signature, a handshake by GET, batches.

Sources: https://developers.facebook.com/docs/graph-api/webhooks/getting-started/ and
https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/overview
"""

import hmac
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar
from urllib.parse import parse_qs

from shared.pipeline.values import SettingName
from shared.sizes import MIB
from shared.webhooks.base import Options, Reply, Scheme, Trust, Verified, WebhookEvent, WebhookRequest
from shared.webhooks.meta_events import read_events
from shared.webhooks.parsing import check_batch, parse_object, require_json
from shared.webhooks.rejections import BadSignature, BodyTooLarge, MalformedBody
from shared.webhooks.signatures import text_key, verify_prefixed_hex

_CHALLENGE = re.compile(r"[\x21-\x7e]{1,256}", re.ASCII)
_VERIFY = "verify_token"
MOST_TOGETHER = 32 * MIB
"""Bytes of a batch's events; Meta's largest batch is 3 MB."""


class MetaOptions(Options):
    """`verify_token` names the setting with the text that the handshake must show."""

    verify_token: SettingName

    def named_secrets(self) -> Mapping[str, str]:
        return {_VERIFY: self.verify_token}


class Meta(Scheme[MetaOptions]):
    """The key is the text of the app secret."""

    name: ClassVar[str] = "meta"
    options: ClassVar[type[Options]] = MetaOptions
    methods: ClassVar[tuple[str, ...]] = ("GET", "POST")
    accepted_status: ClassVar[int] = 200  # "Your endpoint should respond with a 200 OK"
    users_are_numbers: ClassVar[bool] = True  # of telephones, written without a plus

    def load_key(self, secret: str, options: MetaOptions) -> bytes:  # noqa: ARG002  the scheme's interface
        return text_key(secret)

    def greet(self, request: WebhookRequest, trust: Trust[MetaOptions]) -> Reply | None:
        """The challenge of a subscription, given back to who knows the verify token."""
        try:
            query = parse_qs(request.query, keep_blank_values=True, max_num_fields=20)
        except ValueError:
            return None
        if query.get("hub.mode") != ["subscribe"]:
            return None
        tokens, challenges = query.get("hub.verify_token", []), query.get("hub.challenge", [])
        token = trust.named.get(_VERIFY)
        given = tokens[0].encode("utf-8", "surrogatepass") if len(tokens) == 1 else b""
        if token is None or not hmac.compare_digest(token, given):
            raise BadSignature("hub.verify_token is not this source's verify token.")
        if len(challenges) != 1 or not _CHALLENGE.fullmatch(challenges[0]):
            raise MalformedBody("hub.challenge is missing or not a short text.")
        return Reply(status=200, body=challenges[0].encode(), content_type="text/plain; charset=utf-8")

    def verify(self, request: WebhookRequest, trust: Trust[MetaOptions]) -> Verified:
        return verify_prefixed_hex(request, "X-Hub-Signature-256", trust.keys)

    def read(self, request: WebhookRequest, trust: Trust[MetaOptions]) -> tuple[WebhookEvent, ...]:  # noqa: ARG002
        require_json(request)
        check_batch(request.body)
        return tuple(_bounded(read_events(parse_object(request.body))))


def _bounded(events: Iterable[WebhookEvent]) -> Iterator[WebhookEvent]:
    """Each message carries what its batch shares: many of them could be a thousand times the body."""
    total = 0
    for event in events:
        total += len(event.raw)
        if total > MOST_TOGETHER:
            raise BodyTooLarge("The batch's items share so much that together they are too large.")
        yield event
