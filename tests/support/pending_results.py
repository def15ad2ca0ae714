"""Jobs whose results wait for a review, and how tests judge them."""

from dataclasses import replace
from typing import Any

from shared.deadletters.decisions import Decision
from shared.finishing import finish
from shared.jobs import Job, JobState, Review, StoredResult
from shared.services import Services
from tests.support.application import new_job, store
from tests.support.fakes import World

DECISION = Decision(operator="ada", reason="It is fit to be shown.")
KEYED = replace(DECISION, idempotency_key="key-1")
RESULT = StoredResult(ref="results/a/0", content_type="text/plain", sha256="0" * 64, size=1)
VERDICTS = [Review.APPROVED, Review.REJECTED]


async def pending_job(world: World, **changes: Any) -> Job:
    given: dict[str, Any] = {
        "state": JobState.SUCCEEDED,
        "review": Review.PENDING,
        "result": RESULT,
        "claim": 1,
    }
    world.blobs.put_now(RESULT.ref, b"r")
    return await store(world, new_job(world, **(given | changes)), opened=False)


async def run_messages(services: Services, world: World) -> None:
    """What the worker does for a finished job's messages."""
    for sent in world.bus.take_due():
        await finish(services, world.jobs.job(sent.message.job_id), sent.message.release)
