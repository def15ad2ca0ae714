"""Signs a body for a source of pipeline.toml, with the secrets that its settings hold."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from devhost.senders import (
    Sent,
    azure_monitor,
    event_grid,
    generic_hmac,
    github,
    meta,
    shopify,
    slack,
    standard,
    stripe,
    twilio,
)

Table = Mapping[str, Any]


class CannotSignError(RuntimeError):
    """The source's requests cannot be made here; the text says why."""


_HMAC_KEYS = frozenset(
    {
        "header",
        "prefix",
        "algorithm",
        "encoding",
        "key_encoding",
        "signed",
        "timestamp_header",
        "timestamp_format",
        "id_header",
        "type_header",
    }
)


def sign_for(
    source: Table, settings: Mapping[str, str], body: bytes, *, now: datetime, event: str | None = None
) -> Sent:
    """A request of this source, whose table is `source`. `event` is the type, where a header carries it.

    Raises CannotSignError.
    """
    scheme = source.get("scheme")
    if scheme == "fal":
        raise CannotSignError("fal.ai signs with a private key of its own: nobody else can.")
    if scheme not in _SIGNERS:
        raise CannotSignError(f"The source has no known scheme, but {scheme!r}.")
    secret = _secret(source, settings)
    options = {name: value for name, value in _options(source, event).items() if value is not None}
    sent: Sent = _SIGNERS[scheme](body, secret, now=now, **options)
    return sent


_SIGNERS: Mapping[object, Callable[..., Sent]] = {
    "azure-monitor": azure_monitor.signed,
    "event-grid": event_grid.signed,
    "github": github.signed,
    "hmac": generic_hmac.signed,
    "meta": meta.signed,
    "shopify": shopify.signed,
    "slack": slack.signed,
    "standard": standard.signed,
    "stripe": stripe.signed,
    "twilio": twilio.signed,
}


def _options(source: Table, event: str | None) -> dict[str, Any]:
    """What a scheme's signer must know beside body and secret."""
    match source.get("scheme"):
        case "github":
            return {"event": event}
        case "shopify":
            return {"topic": event}
        case "hmac":
            return {name: source.get(name) for name in _HMAC_KEYS} | {"event_type": event}
        case "twilio":
            return {"public_url": source.get("public_url")}
        case "event-grid" | "azure-monitor":
            by_query = source.get("secret_query") is not None
            return {
                "header": "" if by_query else source.get("secret_header"),
                "query": source.get("secret_query"),
            }
        case _:
            return {}


def _secret(source: Table, settings: Mapping[str, str]) -> str:
    """The current secret of the source."""
    if "token" in source:
        raise CannotSignError("The source wants a token of Entra ID, which only its tenant can give.")
    named = source.get("secrets") or [None]
    secret = settings.get(str(named[0]), "")
    if not secret:
        raise CannotSignError(f"The setting {named[0]} has no secret. Put it into the settings file.")
    if secret.startswith("whpk_"):
        raise CannotSignError("The source knows only the sender's public key: nobody else can sign.")
    return secret
