"""Calls as a task makes them: one port for what is safe to repeat, and its errors."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Protocol, TypeVar

from shared.errors import AfterhookError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a call costs: tokens, and money in millionths of the pipeline's currency unit."""

    tokens: int = 0
    micros: int = 0


NO_COST = Usage()


class MustWait(AfterhookError):
    """The job must wait without spending an attempt: a provider rests, or a limit is reached."""

    code: ClassVar[str] = "must_wait"

    def __init__(self, reason: str, until: datetime) -> None:
        """`reason` is a stable code: `provider_resting`, `tenant_busy`, `rate_limited`."""
        super().__init__(f"Waiting: {reason}.")
        self.reason = reason
        self.until = until


class BudgetExceeded(AfterhookError):
    """The job's or the day's budget is used up. Raise it in pipeline.toml, or wait, then resubmit."""

    code: ClassVar[str] = "budget_exceeded"


class ProviderCalls(Protocol):
    """The way to a provider: circuit breaker, budget, time limit, and the count of what happened."""

    async def run(
        self,
        provider: str,
        call: Callable[[], Awaitable[T]],
        *,
        timeout: timedelta,
        estimate: Usage = NO_COST,
        used: Callable[[T], Usage] | None = None,
    ) -> T:
        """The call's answer. `estimate` is reserved before it, `used(answer)` settled after it.

        Raises CallFailed (a call that outlives `timeout` is unclear), MustWait or BudgetExceeded.
        """
        ...
