"""The failure of a call that tried out a resting provider."""

from datetime import datetime

from shared.calls.failures import CallFailed

RESTING = "provider_resting"
"""Why a job waits whose provider rests."""


class TriedInVain(CallFailed):
    """A call tried out a provider that rests, and failed: it rests on, and the job waits with the others.

    For whoever may send the call again it is a wait until `until`, not a spent attempt; what is known of
    this one call is in `kind`, as of any other.
    """

    def __init__(self, failure: CallFailed, until: datetime, now: datetime) -> None:
        super().__init__(failure.provider, failure.kind, status=failure.status, retry_after=until - now)
        self.until = until
