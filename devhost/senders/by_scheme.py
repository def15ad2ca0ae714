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


class NoSecretError(CannotSignError):
    """The setting that should hold the source's secret holds none."""


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
    if event is not None and not _type_is_in_header(source):
        raise CannotSignError("This sender puts the event's type into the body, not into a header.")
    setting, secret = _secret(source, settings)
    options = {name: value for name, value in _options(source, event).items() if value is not None}
    try:
        sent: Sent = _SIGNERS[scheme](body, secret, now=now, **options)
    except UnicodeDecodeError as unreadable:
        raise CannotSignError(
            "The body is neither JSON nor a form in ASCII: this sender would not send it."
        ) from unreadable
    except (ValueError, LookupError) as unfit:
        raise CannotSignError(
            f"The setting {setting}, or one of the source's options, is not of the scheme's form."
        ) from unfit
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


def _type_is_in_header(source: Table) -> bool:
    return source.get("scheme") in {"github", "shopify"} or source.get("type_header") is not None


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
            return {"public_url": source.get("public_url"), "shared_key": _shared_key(source)}
        case "event-grid" | "azure-monitor":
            by_query = source.get("secret_query") is not None
            return {
                "header": "" if by_query else source.get("secret_header"),
                "query": source.get("secret_query"),
            }
        case _:
            return {}


def _shared_key(source: Table) -> str | None:
    """The id of the Twilio key to sign with, where the source has no auth token."""
    keys = source.get("shared_keys")
    return next(iter(keys), None) if isinstance(keys, Mapping) and not source.get("secrets") else None


def _secret(source: Table, settings: Mapping[str, str]) -> tuple[str, str]:
    """The setting of the source's current secret, and what it holds."""
    if "token" in source:
        raise CannotSignError("The source wants a token of Entra ID, which only its tenant can give.")
    shared = _shared_key(source)
    named = [source["shared_keys"][shared]] if shared is not None else source.get("secrets")
    if not isinstance(named, list) or not named:
        raise CannotSignError("The source names no setting with a secret.")
    setting = str(named[0])
    secret = settings.get(setting, "").strip()
    if not secret:
        raise NoSecretError(f"The setting {setting} has no secret.")
    if secret.lower().startswith("change-me"):
        raise NoSecretError(f"The setting {setting} still holds the sample's placeholder.")
    if secret.startswith("whpk_"):
        raise CannotSignError("The source knows only the sender's public key: nobody else can sign.")
    return setting, secret
