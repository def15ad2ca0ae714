"""Delivering what the outbox owes: an attempt now, another time, or never.

Only the queue's messages lead here, so that no request and no timer waits for a receiver. An attempt whose
outcome a crash swallowed is made again: the receiver knows the repeat by its `webhook-id`. Of two
deliveries that overlap, the one that failed takes nothing back of what the other settled.
"""

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from shared.failpoints import Point, reach
from shared.jobs import Job
from shared.notify.announcement import Announcement, OutboxState
from shared.notify.notifier import NotTold, NoTurn, Told
from shared.notify.outbox import notify_policy, outbox_row, owed
from shared.notify.timing import EARLY_TOLERANCE, GIVE_UP_AFTER, busy_pause, pause_after
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
    """Say what the job's present release owes, if it is due. Raises StorageUnavailable only."""
    policy = notify_policy(services, job)
    announcement = await owed(services, job)
    if policy is None or announcement is None:
        return NothingOwed()
    now = services.clock.now()
    if announcement.due_at > now + EARLY_TOLERANCE:
        return TryAgain(announcement.due_at)
    return await _attempt(services, job, policy, announcement)


async def _attempt(
    services: Services, job: Job, policy: NotifyPolicy, announcement: Announcement
) -> Delivery:
    await reach(Point.NOTIFY_BEFORE_POST)
    attempt = await services.notifier.tell(job.source, policy, announcement)
    await reach(Point.NOTIFY_AFTER_POST)
    match attempt:
        case Told():
            told = replace(announcement, state=OutboxState.DELIVERED, code=None, status=None)
            await _settle(services, job, told, "notified")
            services.telemetry.count("notifications_delivered", source=job.source)
            return Delivered()
        case NoTurn():
            pause = busy_pause(announcement.put_offs, services.randomness.fraction())
            put_offs = announcement.put_offs + 1
            put_off = replace(announcement, put_offs=put_offs, code="receiver_busy", status=None)
            return await _later(services, job, put_off, pause)
        case NotTold() as failed:
            attempts = announcement.attempts + 1
            services.telemetry.count("notifications_failed", source=job.source, code=failed.code)
            tried = replace(announcement, attempts=attempts, code=failed.code, status=failed.status)
            if failed.for_good:
                return await _give_up(services, job, tried)
            pause = pause_after(attempts, services.randomness.fraction(), failed.retry_after)
            return await _later(services, job, tried, pause)
        case _:
            assert_never(attempt)


async def _later(
    services: Services, job: Job, announcement: Announcement, pause: timedelta
) -> TryAgain | GivenUp | NothingOwed:
    """What is settled meanwhile stays so; between this reading and its write, it costs one repeat."""
    due_at = services.clock.now() + pause
    if due_at > announcement.happened_at + GIVE_UP_AFTER:
        return await _give_up(services, job, announcement)
    if await owed(services, job) is None:
        return NothingOwed()
    await services.jobs.add_row(job.job_id, outbox_row(replace(announcement, due_at=due_at)))
    await reach(Point.NOTIFY_AFTER_PUT_OFF)
    return TryAgain(due_at)


async def _give_up(services: Services, job: Job, announcement: Announcement) -> GivenUp | NothingOwed:
    if await owed(services, job) is None:
        return NothingOwed()
    code = announcement.code or "unknown"
    log.warning("%s of %s is not told any more: %s", announcement.kind, job.job_id, code)
    given_up = replace(announcement, state=OutboxState.GIVEN_UP)
    await _settle(services, job, given_up, "notification_given_up")
    services.telemetry.count("notifications_given_up", source=job.source, code=code)
    return GivenUp()


async def _settle(services: Services, job: Job, announcement: Announcement, event: str) -> None:
    """The timeline first: a crash in between repeats the attempt, and then both attempts show."""
    row = services.timeline(job, event, code=announcement.code)
    await services.jobs.add_row(job.job_id, row)
    await reach(Point.NOTIFY_AFTER_TIMELINE)
    await services.jobs.add_row(job.job_id, outbox_row(announcement))
    await reach(Point.NOTIFY_AFTER_SETTLED)
