"""Stripe: HMAC-SHA256 of time and raw body in `Stripe-Signature`; snapshot and thin events.

Sources: https://docs.stripe.com/webhooks/signature and https://docs.stripe.com/webhooks
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from shared.printable import clean_text
from shared.webhooks.base import (
    Options,
    Scheme,
    Trust,
    Verified,
    WebhookEvent,
    WebhookRequest,
)
from shared.webhooks.freshness import check_freshness
from shared.webhooks.identity import all_but, event_label
from shared.webhooks.parsing import parse_object, require_json, text_of
from shared.webhooks.rejections import BadSignature, MalformedBody
from shared.webhooks.signatures import hmac_sha256, matching_key, refuse_kinds, text_key
from shared.webhooks.times import iso_time, unix_time

_TIME = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)
_OTHER_KINDS = {
    "sk_": "an API key",
    "pk_": "an API key",
    "rk_": "an API key",
    "we_": "the endpoint's id",
    "acct_": "an account's id",
}
_SNAPSHOT, _THIN = "event", "v2.core.event"


class Stripe(Scheme[Options]):
    """The key is the endpoint secret's whole text, `whsec_` included."""

    name: ClassVar[str] = "stripe"

    def load_key(self, secret: str, options: Options) -> bytes:  # noqa: ARG002  the scheme's interface
        refuse_kinds(secret, _OTHER_KINDS, "the endpoint's signing secret, which begins with whsec_,")
        return text_key(secret)

    def signs_time(self, options: Options) -> bool:  # noqa: ARG002  always
        return True

    def verify(self, request: WebhookRequest, trust: Trust[Options]) -> Verified:
        time, candidates = _parts(request.headers.get("stripe-signature", ""))
        index = matching_key(
            trust.keys,
            candidates,
            lambda key: hmac_sha256(key, time.encode(), b".", request.body).hex().encode(),
        )
        if index is None:
            raise BadSignature(
                "No v1 signature in Stripe-Signature matches time and body. Compare the endpoint's secret."
            )
        check_freshness(int(time), trust)
        return Verified(secret_index=index)

    def read(self, request: WebhookRequest, trust: Trust[Options]) -> tuple[WebhookEvent, ...]:  # noqa: ARG002
        require_json(request)
        payload = parse_object(request.body)
        return (
            WebhookEvent(
                event_id=text_of(payload, "id"),
                event_type=event_label(text_of(payload, "type")),
                account=_account(payload),
                event_time=_created(payload),
                payload=payload,
                raw=request.body,
            ),
        )

    def lasting(self, event: WebhookEvent) -> Iterable[bytes]:
        """`pending_webhooks` counts the endpoints that did not take the event yet, so it falls meanwhile.

        https://docs.stripe.com/api/events/object
        """
        return all_but(event.payload, "pending_webhooks")


def _parts(header: str) -> tuple[str, list[bytes]]:
    """The signed time and the v1 signatures; v0 is a test scheme that proves nothing."""
    times: list[str] = []
    signatures: list[bytes] = []
    for part in header.split(","):
        name, _, value = part.strip().partition("=")
        if name == "t":
            times.append(value)
        elif name == "v1":
            signatures.append(value.encode("utf-8", "surrogatepass"))
    if len(times) != 1 or not _TIME.fullmatch(times[0]) or not signatures:
        raise BadSignature("Stripe-Signature is missing, or not one time `t=` and signatures `v1=`.")
    return times[0], signatures


def _account(payload: Mapping[str, Any]) -> str:
    """Live and test mode, and the accounts of a platform, number their events apart."""
    livemode = payload.get("livemode")
    mode = ("live" if livemode else "test") if isinstance(livemode, bool) else ""
    given = [payload[name] for name in ("account", "context") if payload.get(name) is not None]
    owner = given[0] if given else ""
    if not isinstance(owner, str):
        raise MalformedBody("`account` or `context` in the body is not text.")
    return clean_text(f"{owner}:{mode}")


def _created(payload: Mapping[str, Any]) -> datetime | None:
    match payload.get("object"):
        case str(kind) if kind == _SNAPSHOT:
            return unix_time(payload.get("created"))
        case str(kind) if kind == _THIN:
            return iso_time(payload.get("created"))
        case _:
            raise MalformedBody(f'`object` in the body is neither "{_SNAPSHOT}" nor "{_THIN}".')
