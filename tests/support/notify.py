"""Sources that are told of their jobs, and jobs that ended, for tests."""

from dataclasses import replace
from typing import Any

from shared.jobs import Job, JobState
from shared.notify.outbox import outbox_rows
from shared.pipeline import Pipeline
from shared.pipeline.policies import NotifyPolicy, OutboundPolicy
from shared.services import Services
from tests.support.application import SOURCE, new_job, pipeline, store
from tests.support.cases import failure
from tests.support.fakes import World

RECEIVER = "https://hooks.example.com/jobs"
NOTIFY_SECRET = "EVENTS_NOTIFY_SECRET"


def telling_pipeline(url: str = RECEIVER, **changes: Any) -> Pipeline:
    """The usual pipeline, whose source is told of its jobs."""
    usual = pipeline()
    source = replace(usual.sources[SOURCE], notify=NotifyPolicy(url=url, secret=NOTIFY_SECRET))
    outbound = OutboundPolicy(allowed_hosts=("hooks.example.com",))
    return replace(usual, sources={SOURCE: source}, outbound=outbound, **changes)


async def succeeded_job(services: Services, world: World, event_id: str = "evt_1", **changes: Any) -> Job:
    """A job that has just succeeded, with what it owes, and its open row still there."""
    return await ended_job(services, world, event_id, state=JobState.SUCCEEDED, **changes)


async def buried_job(services: Services, world: World, event_id: str = "evt_1", **changes: Any) -> Job:
    """A job that has just died, with what it owes; no case is filed."""
    given = {"failure": failure(world), "state": JobState.DEAD}
    return await ended_job(services, world, event_id, **(given | changes))


async def ended_job(services: Services, world: World, event_id: str, **changes: Any) -> Job:
    job = new_job(world, event_id, **({"claim": 1} | changes))
    await store(world, job)
    for row in outbox_rows(services, job):
        await world.jobs.add_row(job.job_id, row)
    return job
