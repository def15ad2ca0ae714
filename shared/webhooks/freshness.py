"""How far a signed time may be from ours: to both sides, so that a far-future one is no free pass."""

from typing import Any

from shared.webhooks.base import Trust
from shared.webhooks.rejections import StaleTimestamp


def check_freshness(timestamp: float, trust: Trust[Any]) -> None:
    """Raises StaleTimestamp when `timestamp` (Unix seconds, signed) is beyond the tolerance."""
    limit = int(trust.tolerance.total_seconds())
    skew = timestamp - trust.now.timestamp()
    if abs(skew) > trust.tolerance.total_seconds():
        where = "future" if skew > 0 else "past"
        raise StaleTimestamp(
            f"The signed timestamp lies more than {limit} seconds in the {where}. Compare the clocks.",
            skew_seconds=int(skew),
        )
