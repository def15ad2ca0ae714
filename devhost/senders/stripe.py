"""Stripe: https://docs.stripe.com/webhooks/signature"""

import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

from devhost.senders import Sent


def signed(body: bytes, secret: str, *, now: datetime, rolled: Sequence[str] = ()) -> Sent:
    """While the secret is being rolled, Stripe signs with the old ones (`rolled`) too."""
    time = str(int(now.timestamp()))
    signatures = [f"v1={signature(body, key, time)}" for key in (secret, *rolled)]
    headers = {
        "content-type": "application/json; charset=utf-8",
        "stripe-signature": ",".join([f"t={time}", *signatures]),
    }
    return headers, "", body


def signature(body: bytes, secret: str, time: str) -> str:
    """The key is the secret's text, `whsec_` included."""
    return hmac.new(secret.encode(), time.encode() + b"." + body, hashlib.sha256).hexdigest()
