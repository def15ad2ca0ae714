"""Requests as Twilio signs them, and what they are checked against."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from devhost.senders import twilio as sender
from shared.webhooks.base import Trust, WebhookEvent, WebhookRequest
from shared.webhooks.rejections import BadSignature
from shared.webhooks.twilio import Twilio, TwilioOptions
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW
from tests.unit.shared.webhooks.sources import ACCOUNT_SID

SCHEME = Twilio()
FORM = "application/x-www-form-urlencoded"
PUBLIC_URL = "https://hooks.example.com/api/webhooks/twilio"
TOKEN = "an invented secret of the tests"
SHARED = "another invented secret of the tests"
MESSAGE = urlencode(
    {"AccountSid": ACCOUNT_SID, "MessageSid": "SM1", "SmsStatus": "received", "Body": " it's 1+1 🙂 "}
).encode()
KEYS = {"key-1": SHARED.encode(), "key-2": b"a third invented secret of the tests"}


def options(public_url: str = PUBLIC_URL, **more: Any) -> TwilioOptions:
    return TwilioOptions.model_validate({"public_url": public_url, "accounts": [ACCOUNT_SID], **more})


def incoming(
    body: bytes, signature: str | None = None, *, query: str = "", method: str = "POST", **headers: str
) -> WebhookRequest:
    """Signed with the token unless a signature is given; headers with underscores, left out when empty."""
    url = f"{PUBLIC_URL}?{query}" if query else PUBLIC_URL
    found = {"content-type": FORM} | {name.replace("_", "-"): value for name, value in headers.items()}
    if signature is None:
        form = body if found["content-type"].startswith(FORM) and "bodySHA256" not in query else b""
        signature = sender.signature(url, form, TOKEN)
    found["x-twilio-signature"] = signature
    return WebhookRequest(
        method=method,
        headers={name: value for name, value in found.items() if value},
        query=query,
        url="http://app.azurewebsites.net/api/webhooks/twilio",  # what the platform makes of it
        body=body,
    )


def trust(*keys: bytes, named: Mapping[str, bytes] | None = None, **more: Any) -> Trust[TwilioOptions]:
    return Trust(
        options=options(**more),
        now=NOW,
        tolerance=FIVE_MINUTES,
        keys=keys or [TOKEN.encode()],
        named=named or {},
    )


def refused(request: WebhookRequest, checked: Trust[TwilioOptions] | None = None) -> bool:
    try:
        SCHEME.verify(request, checked or trust())
    except BadSignature:
        return True
    return False


def read(request: WebhookRequest) -> tuple[WebhookEvent, ...]:
    SCHEME.verify(request, trust())
    return SCHEME.read(request, trust())
