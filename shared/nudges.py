"""Looking at a job again later, and holding on while the bus is away.

A nudge repeats the row's release and turn under an id of its own: without the suffix duplicate detection
would drop it.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from shared.errors import QueueUnavailable
from shared.messages import JobMessage
from shared.services import Services

OUTAGE_PAUSE = timedelta(seconds=30)
HOLD_LIMIT = timedelta(seconds=60)
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 15.0


async def nudge(services: Services, message: JobMessage, at: datetime | None = None) -> None:
    """Send `message` again for `at` (now if None), confirmed on return. Raises QueueUnavailable."""
    await services.bus.send(message, at=at, suffix=services.randomness.token())


async def hold_while_bus_is_away(services: Services, send: Callable[[], Awaitable[None]]) -> None:
    """Call `send` until the bus confirms, with backoff, for up to a minute; then raise QueueUnavailable.

    Raising makes the platform deliver the message again at once and costs one of its few deliveries, so a
    short outage must not come to that.
    """
    give_up = services.clock.now() + HOLD_LIMIT
    pause = _FIRST_PAUSE
    while True:
        try:
            await send()
        except QueueUnavailable:
            if services.clock.now() + timedelta(seconds=pause) > give_up:
                raise
            await services.clock.sleep(pause * (1 + services.randomness.fraction()) / 2)
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            return


async def nudge_or_hold(services: Services, message: JobMessage, at: datetime | None = None) -> None:
    """Nudge, holding up to a minute while the bus is away."""
    await hold_while_bus_is_away(services, lambda: nudge(services, message, at))


def after_outage(services: Services) -> datetime:
    """When to look again while storage is away: spread, so that a backlog does not return all at once."""
    return services.clock.now() + OUTAGE_PAUSE * (1 + services.randomness.fraction())
