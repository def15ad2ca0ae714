"""Dead jobs and filed cases, for tests of what follows."""

from typing import Any

from shared.deadletters.filing import file_case
from shared.deadletters.reconcile import Reconciled
from shared.deadletters.release import Released
from shared.jobs import Category, Failure, Job, JobState
from shared.ports import Snapshot
from shared.services import Services
from tests.support.application import new_job, store
from tests.support.fakes import World


def failure(world: World, *, code: str = "document_missing", **changes: Any) -> Failure:
    given: dict[str, Any] = {
        "code": code,
        "category": Category.FIX_INPUT,
        "message": "There is no document.",
        "at": world.clock.now(),
        "attempts": 1,
        "worker": "worker-1",
        "app_version": "1.2.3",
        "input_ref": None,
    }
    return Failure(**(given | changes))


async def dead_job(
    world: World, event_id: str = "evt_1", *, code: str = "document_missing", **job: Any
) -> Job:
    """A stored dead job without a case."""
    given: dict[str, Any] = {"state": JobState.DEAD, "claim": 1, "failure": failure(world, code=code)}
    return await store(world, new_job(world, event_id, **(given | job)))


async def snapshot_of(world: World, job_id: str) -> Snapshot:
    found = await world.jobs.load(job_id)
    assert found is not None
    return found


async def filed_job(services: Services, world: World, event_id: str = "evt_1", **job: Any) -> Job:
    """A dead job whose case is filed, as it is stored then."""
    dead = await dead_job(world, event_id, **job)
    await file_case(services, await snapshot_of(world, dead.job_id))
    return world.jobs.job(dead.job_id)


def released(job: Job, *, queued: bool = True) -> Reconciled:
    """The answer to a reconciliation after which the job runs on."""
    done = Released(job_id=job.job_id, release=job.release + 1, queued=queued)
    return Reconciled(job_id=job.job_id, released=done)
