"""Tokens of Entra ID, made with a real RSA key, and the checking of them."""

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from shared.webhooks.base import Jwk, Trust
from shared.webhooks.entra import TokenOptions, check_token
from shared.webhooks.rejections import BadSignature, UnknownSigningKey
from tests.support.issuer import entra_claims, public_jwk, token
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW
from tests.unit.shared.webhooks.sources import TENANT

AUDIENCE = "api://afterhook"
APP_ID = "461e8683-5575-4561-ac7f-899cc907d62a"
ROLE = "ActionGroupsSecureWebhook"
OTHER = "99998888-7777-6666-5555-444433332222"
PUBLISHED = [public_jwk("first")]


def options(**more: Any) -> TokenOptions:
    table = {"tenant": TENANT, "audience": [AUDIENCE], "app_id": APP_ID, "role": ROLE}
    return TokenOptions.model_validate({k: v for k, v in {**table, **more}.items() if v is not None})


def claims(version: int = 2, **changes: Any) -> dict[str, Any]:
    """A good token's; a change to None takes the claim out."""
    found = entra_claims(tenant=TENANT, audience=AUDIENCE, app_id=APP_ID, role=ROLE, now=NOW, version=version)
    return {name: value for name, value in {**found, **changes}.items() if value is not None}


def check(
    text: str,
    checked: TokenOptions | None = None,
    *,
    published: Sequence[Jwk] = PUBLISHED,
    later: timedelta = timedelta(),
) -> None:
    """Raises what `check_token` raises for the header `text`."""
    found = checked or options()
    trust = Trust(options=found, now=NOW + later, tolerance=FIVE_MINUTES, published=published)
    check_token(text, found, trust)


def refused(text: str, checked: TokenOptions | None = None, **more: Any) -> bool:
    try:
        check(text, checked, **more)
    except UnknownSigningKey:
        return False
    except BadSignature:
        return True
    return False


def bearer(found: Mapping[str, Any], **more: Any) -> str:
    return f"Bearer {token(found, **more)}"


def part(document: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")
