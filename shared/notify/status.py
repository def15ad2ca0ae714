"""How far the telling of a job's end came, for people who look at the job."""

from enum import StrEnum
from typing import assert_never

from shared.jobs import Job, JobState
from shared.notify.announcement import Announcement, OutboxState
from shared.notify.outbox import ANNOUNCED, WITHHELD, notify_policy
from shared.services import Services

TELLS = ANNOUNCED | {JobState.CLOSED}
"""States of jobs whose end is told, or was told while they were dead."""


class NotificationState(StrEnum):
    """Where the telling stands."""

    NOT_CONFIGURED = "not_configured"  # the job's source tells nobody, or told nobody when the job ended
    WITHHELD = "withheld"  # by a review that is pending, or that rejected the result
    WAITING = "waiting"  # for its first attempt or, after failed ones, for the next
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


def notification_state(services: Services, job: Job, announced: Announcement | None) -> NotificationState:
    """For a job in one of TELLS, with what its outbox holds."""
    told = notify_policy(services, job) is not None
    if announced is None:
        withheld = told and job.state is JobState.SUCCEEDED and job.review in WITHHELD
        return NotificationState.WITHHELD if withheld else NotificationState.NOT_CONFIGURED
    match announced.state:
        case OutboxState.OWED:
            return NotificationState.WAITING if told else NotificationState.NOT_CONFIGURED
        case OutboxState.DELIVERED:
            return NotificationState.DELIVERED
        case OutboxState.GIVEN_UP:
            return NotificationState.GIVEN_UP
        case _:
            assert_never(announced.state)
