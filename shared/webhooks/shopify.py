"""Shopify: base64 of the HMAC-SHA256 of the raw body in `X-Shopify-Hmac-Sha256`; no time.

Only the body is signed: topic, shop and ids come from headers that are not.
Source: https://shopify.dev/docs/apps/build/webhooks/verify-deliveries
"""

import base64
import re
from typing import ClassVar

from shared.printable import clean_text
from shared.webhooks.base import Options, Scheme, Trust, Verified, WebhookEvent, WebhookRequest
from shared.webhooks.identity import body_id, event_label
from shared.webhooks.parsing import parse_object, require_json
from shared.webhooks.rejections import BadSignature, MalformedBody
from shared.webhooks.signatures import hmac_sha256, matching_key, refuse_kinds, text_key
from shared.webhooks.times import iso_time

_OTHER_KINDS = {"shpat_": "an access token", "shpca_": "an access token", "shppa_": "an access token"}
_TOPIC = re.compile(r"[a-z0-9_]+(?:/[a-z0-9_]+)*", re.ASCII)
_ID_HEADERS = ("x-shopify-webhook-id", "x-shopify-event-id")
"""The first is one delivery's, kept over its retries; the second that of all deliveries of one action."""


class Shopify(Scheme[Options]):
    """The key is the text of the app's client secret."""

    name: ClassVar[str] = "shopify"
    answer_within: ClassVar[float] = 4.0  # Shopify waits five

    def load_key(self, secret: str, options: Options) -> bytes:  # noqa: ARG002  the scheme's interface
        refuse_kinds(secret, _OTHER_KINDS, "the app's client secret")
        return text_key(secret)

    def verify(self, request: WebhookRequest, trust: Trust[Options]) -> Verified:
        found = request.headers.get("x-shopify-hmac-sha256", "")
        if not found:
            raise BadSignature("X-Shopify-Hmac-Sha256 is missing.")
        given = found.encode("utf-8", "surrogatepass")
        index = matching_key(
            trust.keys, [given], lambda key: base64.b64encode(hmac_sha256(key, request.body))
        )
        if index is None:
            raise BadSignature(
                "X-Shopify-Hmac-Sha256 does not match the body. Compare the app's client secret."
            )
        return Verified(secret_index=index)

    def read(self, request: WebhookRequest, trust: Trust[Options]) -> tuple[WebhookEvent, ...]:  # noqa: ARG002
        require_json(request)
        payload = parse_object(request.body)
        topic = request.headers.get("x-shopify-topic", "")
        if not _TOPIC.fullmatch(topic):
            raise MalformedBody("X-Shopify-Topic is missing or not a topic.")
        return (
            WebhookEvent(
                event_id=_event_id(request),
                event_type=event_label(topic),
                account=f"{_header(request, 'x-shopify-shop-domain')}:{topic}",
                event_time=iso_time(request.headers.get("x-shopify-triggered-at")),
                payload=payload,
                raw=request.body,
            ),
        )


def _event_id(request: WebhookRequest) -> str:
    given = (_header(request, name) for name in _ID_HEADERS)
    return next((value for value in given if value), body_id(request.body))


def _header(request: WebhookRequest, name: str) -> str:
    return clean_text(request.headers.get(name, "").strip())
