"""The outbox: one row a release, written in the very batch that ends it, so that no end goes untold.

The row holds what will be said, as it was then; nothing in it is private. The id of the announcement is
made of job, release and state, so that a receiver knows a repeat.
"""

import json
from dataclasses import dataclass
from typing import Any

from shared.effects.contract import EffectContract
from shared.jobs import Job, JobState, Review
from shared.notify.announcement import Announcement, OutboxState
from shared.notify.timing import POST_TIMEOUT
from shared.pipeline.policies import NotifyPolicy
from shared.ports import Row, RowKind
from shared.records import data_from_text, from_text, to_text
from shared.services import Services

CONTRACT = EffectContract(
    action="notify", provider="receiver", version=1, call_timeout=POST_TIMEOUT, repeatable=True
)
"""What may be done with a post that was not answered: repeat it, because its `webhook-id` stays the same."""
ANNOUNCED = frozenset({JobState.SUCCEEDED, JobState.DEAD})
WITHHELD = frozenset({Review.PENDING, Review.REJECTED})


@dataclass(frozen=True, slots=True)
class Kept:
    """An announcement as its row holds it; `version` guards the next write."""

    announcement: Announcement
    version: str


def notify_policy(services: Services, job: Job) -> NotifyPolicy | None:
    """Where the job's end is announced, if anywhere."""
    source = services.pipeline.sources.get(job.source)
    return None if source is None else source.notify


def outbox_rows(services: Services, job: Job) -> list[Row]:
    """What belongs into the batch that writes `job`, which is given as it will be written.

    Empty unless it has succeeded or is dead, its source is told of it, and nothing withholds it.
    """
    if job.state not in ANNOUNCED or notify_policy(services, job) is None:
        return []
    if job.state is JobState.SUCCEEDED and job.review in WITHHELD:
        return []
    announcement = Announcement(
        webhook_id=f"{job.job_id}-{job.release}-{job.state.value}",
        kind=f"job.{job.state.value}",
        release=job.release,
        happened_at=job.updated_at,
        data=_data(job),
        due_at=job.updated_at,
    )
    return [outbox_row(announcement)]


def outbox_row(announcement: Announcement) -> Row:
    key = outbox_key(announcement.release)
    return Row(kind=RowKind.OUTBOX, key=key, data=data_from_text(to_text(announcement)))


def outbox_key(release: int) -> str:
    return f"{release:06d}"


async def owed(services: Services, job: Job) -> Announcement | None:
    """What is still to be said of the job's present release; no read where its source is told nothing."""
    found = await owed_row(services, job)
    return None if found is None else found.announcement


async def owed_row(services: Services, job: Job) -> Kept | None:
    """As `owed`, with the version of its row."""
    if notify_policy(services, job) is None:
        return None
    found = await _read(services, job)
    return found if found is not None and found.announcement.state is OutboxState.OWED else None


async def announced(services: Services, job: Job) -> Announcement | None:
    """What the job's present release has to say or has said, and how far that came."""
    found = await _read(services, job)
    return None if found is None else found.announcement


async def _read(services: Services, job: Job) -> Kept | None:
    row = await services.jobs.row(job.job_id, RowKind.OUTBOX, outbox_key(job.release))
    if row is None:
        return None
    assert row.version is not None, "a row that was read has a version"
    return Kept(from_text(Announcement, json.dumps(dict(row.data))), row.version)


def _data(job: Job) -> dict[str, Any]:
    data: dict[str, Any] = {
        "job_id": job.job_id,
        "task_type": job.task_type,
        "source": job.source,
        "status": job.state.value,
        "release": job.release,
    }
    if job.state is JobState.SUCCEEDED and job.result is not None:
        data["result_ref"] = job.result.ref
    if job.state is JobState.DEAD and job.failure is not None:
        data |= {"code": job.failure.code, "category": job.failure.category.value}
    return data
