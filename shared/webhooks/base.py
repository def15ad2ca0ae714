"""What every webhook scheme takes, gives and promises."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

Jwk = Mapping[str, Any]
"""One public key as a JWKS shows it (RFC 7517)."""


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
class Reply:
    """An answer in the sender's own form."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The request is the sender's. `secret_index` says which secret matched (0 = current), if one did.

    `named` says which of the scheme's further secrets did.
    """

    secret_index: int | None
    named: str | None = None


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


class Options(BaseModel):
    """Keys that a source of this scheme has in pipeline.toml beside the common ones."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    def named_secrets(self) -> Mapping[str, str]:
        """Further secrets: their name within the scheme, and the app setting that holds each."""
        return {}


O_co = TypeVar("O_co", bound=Options, covariant=True)
O_contra = TypeVar("O_contra", bound=Options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust(Generic[O_co]):
    """What a source's requests are checked against.

    `keys` come from the source's `secrets`, `named` from its options, `published` from the key set whose
    address `Scheme.key_set` gives. `tolerance` counts to both sides of `now`.
    """

    options: O_co
    now: datetime
    tolerance: timedelta
    keys: Sequence[bytes] = field(default=(), repr=False)
    named: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    published: Sequence[Jwk] = ()


class Scheme(ABC, Generic[O_contra]):
    """How one kind of sender signs and shapes its webhooks.

    `greet`, `verify` and `read` raise WebhookRejected and nothing else, whatever the bytes.
    """

    name: ClassVar[str]
    options: ClassVar[type[Options]] = Options
    answer_within: ClassVar[float] = 8.0
    """Seconds in which the sender hears from us, well below its own time-out."""
    users_are_numbers: ClassVar[bool] = False
    """Whether the sender writes people's telephone numbers without a plus, so that any number may be one."""
    accepted_status: ClassVar[int] = 202
    """The answer to a new event."""
    methods: ClassVar[tuple[str, ...]] = ("POST",)
    """POST, and those that `greet` answers."""

    @abstractmethod
    def load_key(self, secret: str, options: O_contra) -> bytes:
        """The key of a secret as the sender shows it. Raises UnusableSecret."""

    def wants_secrets(self, options: O_contra) -> bool:  # noqa: ARG002  most schemes always do
        """Whether a source with these options needs `secrets`."""
        return True

    def takes_secrets(self, options: O_contra) -> bool:  # noqa: ARG002  most schemes always do
        """Whether such a source can have `secrets` at all."""
        return True

    def signs_time(self, options: O_contra) -> bool:  # noqa: ARG002  most schemes: always or never
        """Whether the signature covers a time, so that a tolerance applies."""
        return False

    def key_set(self, options: O_contra) -> str | None:  # noqa: ARG002  most schemes have none
        """The address of the published keys that `verify` needs."""
        return None

    def greet(self, request: WebhookRequest, trust: Trust[O_contra]) -> Reply | None:  # noqa: ARG002
        """The answer to a handshake by another method than POST; None where this is none."""
        return None

    def answer(self, request: WebhookRequest) -> Reply | None:  # noqa: ARG002  most take ours
        """The answer to whatever was taken, where the sender wants one of its own form."""
        return None

    @abstractmethod
    def verify(self, request: WebhookRequest, trust: Trust[O_contra]) -> Verified:
        """Check the signature over the raw bytes, then (where there is one) the signed time."""

    @abstractmethod
    def read(self, request: WebhookRequest, trust: Trust[O_contra]) -> Reply | tuple[WebhookEvent, ...]:
        """The events of a request that `verify` accepted, or the answer to a handshake by POST."""

    def lasting(self, event: WebhookEvent) -> Iterable[bytes]:
        """What of an event is the same in each of its deliveries; its hash finds another body under one id.

        All of it, unless the sender writes into the body what changes from one delivery to the next.
        """
        return (event.raw,)
