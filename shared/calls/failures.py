"""What a failed call to a provider means, told in one place for every adapter.

An adapter says what it saw (a `Sighting`); `classify` says what that means. What may follow is decided
later, from the kind and from whether the call is safe to repeat: the same timeout is a retry for a model
and an unknown outcome for a submit.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar

from shared.errors import AfterhookError


class FailureKind(StrEnum):
    """What is known of a call that gave no usable answer."""

    NOT_SENT = "not_sent"  # refused or cut before anything was sent: not executed
    THROTTLED = "throttled"  # 429: not executed
    UNAVAILABLE = "unavailable"  # 503: not executed
    REJECTED = "rejected"  # the provider refused this request for good: not executed
    UNCLEAR = "unclear"  # sent, and no clear answer came: nobody knows whether it was executed


EXECUTED_NOTHING = frozenset(FailureKind) - {FailureKind.UNCLEAR}


class CallFailed(AfterhookError):
    """A call to a provider failed. The text names provider and status, never the provider's body."""

    code: ClassVar[str] = "provider_call_failed"

    def __init__(
        self,
        provider: str,
        kind: FailureKind,
        *,
        status: int | None = None,
        retry_after: timedelta | None = None,
        garbled: bool = False,
    ) -> None:
        answer = f"status {status}" if status is not None else "no answer"
        if garbled:
            answer = "an answer that cannot be read" + (f", {answer}" if status is not None else "")
        super().__init__(f"{provider}: {kind.value.replace('_', ' ')} ({answer}).")
        self.provider = provider
        self.kind = kind
        self.status = status
        self.retry_after = retry_after

    @property
    def outage(self) -> bool:
        """Whether it speaks of the provider's health: what opens its circuit breaker."""
        return self.kind is not FailureKind.REJECTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What an adapter saw: the answer's status if one came, and whether anything had been sent.

    `garbled`: an answer came that is none of the provider's documented ones (not JSON, an id missing).
    """

    provider: str
    status: int | None = None
    sent: bool = True
    garbled: bool = False
    retry_after: timedelta | None = None


THROTTLING, UNAVAILABLE, TIMED_OUT = 429, 503, 408
CLIENT_ERRORS = range(400, 500)


def classify(seen: Sighting) -> CallFailed:
    """The failure that `seen` means.

    429 and 503 say that nothing was executed; any other 4xx but 408 is a refusal for good; everything else
    that was sent is unclear (a cut, a timeout, 408, 5xx, a redirect, an answer that cannot be read).
    """
    return CallFailed(
        seen.provider,
        _kind(seen),
        status=seen.status,
        retry_after=seen.retry_after,
        garbled=seen.garbled,
    )


def _kind(seen: Sighting) -> FailureKind:
    if not seen.sent:
        return FailureKind.NOT_SENT
    if seen.status is None or seen.garbled or seen.status == TIMED_OUT:
        return FailureKind.UNCLEAR
    if seen.status == THROTTLING:
        return FailureKind.THROTTLED
    if seen.status == UNAVAILABLE:
        return FailureKind.UNAVAILABLE
    return FailureKind.REJECTED if seen.status in CLIENT_ERRORS else FailureKind.UNCLEAR
