"""The schemes there are, by the name that pipeline.toml gives them."""

from collections.abc import Mapping
from typing import Any

from shared.webhooks.azure_monitor import AzureMonitor
from shared.webhooks.base import Scheme
from shared.webhooks.event_grid import EventGrid
from shared.webhooks.fal import Fal
from shared.webhooks.generic_hmac import GenericHmac
from shared.webhooks.github import GitHub
from shared.webhooks.meta import Meta
from shared.webhooks.shopify import Shopify
from shared.webhooks.slack import Slack
from shared.webhooks.standard import Standard
from shared.webhooks.stripe import Stripe
from shared.webhooks.twilio import Twilio

_ALL: tuple[Scheme[Any], ...] = (
    AzureMonitor(),
    EventGrid(),
    Fal(),
    GenericHmac(),
    GitHub(),
    Meta(),
    Shopify(),
    Slack(),
    Standard(),
    Stripe(),
    Twilio(),
)
_SCHEMES: Mapping[str, Scheme[Any]] = {scheme.name: scheme for scheme in _ALL}


def scheme_names() -> tuple[str, ...]:
    return tuple(sorted(_SCHEMES))


def scheme_named(name: str) -> Scheme[Any]:
    """The scheme called `name`. Raises KeyError; pipeline.toml is checked for it when it is read."""
    return _SCHEMES[name]
