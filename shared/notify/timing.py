"""When an announcement is tried again, and how long in all: pure rules."""

from datetime import timedelta

from shared.retry import BackoffCurve

POST_TIMEOUT = timedelta(seconds=10)
POSTING_LEASE = timedelta(seconds=15)
"""How long an announcement is in the hands of one that posts it: the post, and what clocks differ by."""
GIVE_UP_AFTER = timedelta(days=1)
BACKOFF = BackoffCurve(base=timedelta(seconds=5), factor=3, cap=timedelta(hours=1))
JITTER = 0.2
EARLY_TOLERANCE = timedelta(seconds=2)  # clocks differ, and a message on time is not to come twice
BUSY_BACKOFF = BackoffCurve(base=timedelta(seconds=5), factor=2, cap=timedelta(minutes=10))


def pause_after(attempts: int, fraction: float, retry_after: timedelta | None = None) -> timedelta:
    """The pause after so many failed attempts (1 = after the first): 5 s, 15 s, 45 s, ... 1 h.

    The receiver's `retry_after` is a floor, up to the longest pause. `fraction` in [0, 1) is chance.
    """
    pause = max(BACKOFF.delay(attempts - 1), min(retry_after or timedelta(0), BACKOFF.cap))
    return pause * (1 + JITTER * fraction)


def busy_pause(put_offs: int, fraction: float) -> timedelta:
    """The pause while enough others are being told at the same receiver: 5 to 15 s at first.

    It doubles each time, up to half an hour, so that a long backlog does not come back all the time.
    """
    return BUSY_BACKOFF.delay(put_offs) * (1 + 2 * fraction)
