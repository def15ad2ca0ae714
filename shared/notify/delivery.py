"""Delivering what the outbox owes: an attempt now, another time, or never.

Only the queue's messages lead here, so that no request and no timer waits for a receiver. Who delivers takes
the announcement first, for as long as a post can last, with a write that only one can make: of deliveries
that overlap one posts. An attempt whose outcome a crash swallowed is made again after that: the receiver
knows the repeat by its `webhook-id`.
"""

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from shared.failpoints import Point, reach
from shared.jobs import Job
from shared.notify.announcement import Announcement, OutboxState
from shared.notify.notifier import NoRoom, NotTold, Told
from shared.notify.outbox import Kept, notify_policy, outbox_row, owed_row
from shared.notify.timing import (
    EARLY_TOLERANCE,
    GIVE_UP_AFTER,
    POST_TIMEOUT,
    POSTING_LEASE,
    busy_pause,
    pause_after,
)
from shared.pipeline.policies import NotifyPolicy
from shared.services import Services

log = logging.getLogger("afterhook.notify")


@dataclass(frozen=True, slots=True)
class NothingOwed:
    """There is nothing to say, or it has been said."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The receiver has it."""


@dataclass(frozen=True, slots=True)
class TryAgain:
    """It is still owed; the next attempt is at `at`."""

    at: datetime


@dataclass(frozen=True, slots=True)
class GivenUp:
    """It was tried for a day, or the receiver wants no more. The job is none the worse for it."""


Delivery = NothingOwed | Delivered | TryAgain | GivenUp


async def deliver(services: Services, job: Job) -> Delivery:
    """Say what the job's present release owes, if it is due and nobody else is at it.

    Raises StorageUnavailable only.
    """
    policy = notify_policy(services, job)
    found = await owed_row(services, job)
    if policy is None or found is None:
        return NothingOwed()
    at = _due(found.announcement)
    if at > services.clock.now() + EARLY_TOLERANCE:
        return TryAgain(at)
    until = services.clock.now() + POSTING_LEASE
    taken = await _replaced(
        services,
        job,
        replace(found.announcement, posting_by=services.randomness.token(), posting_until=until),
        found.version,
    )
    if taken is None:
        return await _look_again(services, job)
    if services.clock.now() > until - POST_TIMEOUT - EARLY_TOLERANCE:
        return TryAgain(until)  # held up so long that the post might outlast the lease
    return await _attempt(services, job, policy, taken)


def _due(announcement: Announcement) -> datetime:
    """When it may be tried next: not before whoever is at it must be done."""
    return max(announcement.due_at, announcement.posting_until or announcement.due_at)


async def _attempt(services: Services, job: Job, policy: NotifyPolicy, taken: Kept) -> Delivery:
    announcement = taken.announcement
    await reach(Point.NOTIFY_BEFORE_POST)
    attempt = await services.notifier.tell(job.source, policy, announcement)
    await reach(Point.NOTIFY_AFTER_POST)
    match attempt:
        case Told():
            return await _delivered(services, job, announcement)
        case NoRoom():
            pause = busy_pause(announcement.put_offs, services.randomness.fraction())
            put_offs = announcement.put_offs + 1
            put_off = replace(announcement, put_offs=put_offs, code="receiver_busy", status=None)
            return await _later(services, job, Kept(put_off, taken.version), pause)
        case NotTold() as failed:
            attempts = announcement.attempts + 1
            services.telemetry.count("notifications_failed", source=job.source, code=failed.code)
            tried = replace(announcement, attempts=attempts, code=failed.code, status=failed.status)
            if failed.for_good:
                return await _give_up(services, job, Kept(tried, taken.version))
            pause = pause_after(attempts, services.randomness.fraction(), failed.retry_after)
            return await _later(services, job, Kept(tried, taken.version), pause)
        case _:
            assert_never(attempt)


async def _delivered(services: Services, job: Job, announcement: Announcement) -> Delivered:
    """Whatever others wrote meanwhile: the receiver has it. The timeline first, so that a crash in between
    repeats the attempt, and both attempts show."""
    told = replace(announcement, state=OutboxState.DELIVERED, code=None, status=None)
    await services.jobs.add_row(job.job_id, services.timeline(job, "notified"))
    await reach(Point.NOTIFY_AFTER_TIMELINE)
    await services.jobs.add_row(job.job_id, outbox_row(_let_go(told)))
    await reach(Point.NOTIFY_AFTER_SETTLED)
    services.telemetry.count("notifications_delivered", source=job.source)
    return Delivered()


async def _later(
    services: Services, job: Job, tried: Kept, pause: timedelta
) -> TryAgain | GivenUp | NothingOwed:
    due_at = services.clock.now() + pause
    if due_at > tried.announcement.happened_at + GIVE_UP_AFTER:
        return await _give_up(services, job, tried)
    put_off = replace(_let_go(tried.announcement), due_at=due_at)
    if await _replaced(services, job, put_off, tried.version) is None:
        return await _look_again(services, job)
    await reach(Point.NOTIFY_AFTER_PUT_OFF)
    return TryAgain(due_at)


async def _give_up(services: Services, job: Job, tried: Kept) -> TryAgain | GivenUp | NothingOwed:
    """The timeline first, as in `_delivered`; but not where another came in between."""
    now = await owed_row(services, job)
    if now is None or now.version != tried.version:
        return await _look_again(services, job)
    code = tried.announcement.code or "unknown"
    await services.jobs.add_row(
        job.job_id, services.timeline(job, "notification_given_up", code=tried.announcement.code)
    )
    await reach(Point.NOTIFY_AFTER_TIMELINE)
    given_up = replace(_let_go(tried.announcement), state=OutboxState.GIVEN_UP)
    if await _replaced(services, job, given_up, tried.version) is None:
        return await _look_again(services, job)
    await reach(Point.NOTIFY_AFTER_SETTLED)
    log.warning("%s of %s is not told any more: %s", given_up.kind, job.job_id, code)
    services.telemetry.count("notifications_given_up", source=job.source, code=code)
    return GivenUp()


def _let_go(announcement: Announcement) -> Announcement:
    return replace(announcement, posting_by=None, posting_until=None)


async def _look_again(services: Services, job: Job) -> TryAgain | NothingOwed:
    """Another wrote meanwhile: what it settled stands, and what it is at is looked at when that is over."""
    found = await owed_row(services, job)
    return NothingOwed() if found is None else TryAgain(_due(found.announcement))


async def _replaced(services: Services, job: Job, announcement: Announcement, version: str) -> Kept | None:
    """The announcement as it is kept now; None if it is no longer as it was read with `version`."""
    row = outbox_row(announcement)
    written = await services.jobs.replace_row(job.job_id, row, version)
    return None if written is None else Kept(announcement, written)
