"""Retry policies (`@app.retry`): the host runs a failed timer again; nothing of it outlives the process.

Sources: https://learn.microsoft.com/azure/azure-functions/functions-bindings-error-pages#retry-policies, and
RandomizedExponentialBackoffStrategy in Azure/azure-webjobs-sdk.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

FOR_EVER = -1
_SPREAD = 0.2


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """After how long, and how often, a failed run is repeated."""

    max_retry_count: int
    """`FOR_EVER` for no limit."""
    minimum: timedelta
    maximum: timedelta
    """The longest wait; for a fixed delay the minimum, too."""

    def allows(self, retry: int) -> bool:
        """Whether there is a retry of this number, from 1."""
        return self.max_retry_count == FOR_EVER or retry <= self.max_retry_count

    def delay(self, retry: int, random: Callable[[], float]) -> timedelta:
        """The wait before a retry: doubled each time, with jitter; `random` gives 0 to 1."""
        if self.minimum >= self.maximum:
            return self.maximum
        jitter = 1 - _SPREAD + 2 * _SPREAD * random()
        # A wait beyond the maximum is cut to it; the exponent is, so that it cannot overflow.
        seconds = self.minimum.total_seconds() * (1 + jitter * 2.0 ** min(retry - 1, 64))
        return timedelta(seconds=min(seconds, self.maximum.total_seconds()))


@dataclass(frozen=True, slots=True)
class RetryState:
    """What a run knows of the runs before it; the default is a first run."""

    count: int = 0
    max_count: int = 0
    message: str = ""
    """Of the failure before, `<type>: <text>`."""
    stack_trace: str = ""


FIRST_RUN = RetryState()
