"""What every webhook scheme takes, gives and promises."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """A request as it came over the wire, before anything was decoded.

    `headers` has lower-case names; repeated headers are joined with commas, as the Functions host does.
    `query` is the raw query string without `?`.
    """

    method: str
    headers: Mapping[str, str]
    query: str
    url: str
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The request is the sender's. `secret_index` says which configured secret matched (0 = current)."""

    secret_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEvent:
    """One event of a verified request.

    (account, event_id) is what the sender keeps stable over redeliveries; it may hold something personal,
    so it passes through `shared.webhooks.pseudonyms` before it is stored. `raw` is the event's own JSON.
    """

    event_id: str
    event_type: str
    account: str
    event_time: datetime | None
    payload: Mapping[str, Any] = field(repr=False)
    raw: bytes = field(repr=False)


class UnusableSecret(ValueError):
    """A configured secret cannot be used. The text says why and never shows the secret."""


class Scheme(Protocol):
    """How one kind of sender signs and shapes its webhooks.

    `verify` and `read` raise WebhookRejected and nothing else, whatever the bytes.
    """

    name: ClassVar[str]
    has_timestamp: ClassVar[bool]  # whether the signature covers a time, so that a tolerance applies

    def load_key(self, secret: str) -> bytes:
        """The HMAC key of a secret as the sender shows it. Raises UnusableSecret."""
        ...

    def verify(
        self, request: WebhookRequest, keys: Sequence[bytes], now: datetime, tolerance: timedelta
    ) -> Verified:
        """Check the signature over the raw bytes, then (where there is one) the signed time.

        `tolerance` counts to both sides; schemes without a timestamp ignore it.
        """
        ...

    def read(self, request: WebhookRequest) -> tuple[WebhookEvent, ...]:
        """The events of a request that `verify` accepted."""
        ...
