"""Invented effects in a job's ledger, and dead jobs whose outcomes nobody knows."""

from datetime import timedelta
from typing import Any

from shared.effects.records import EffectRecord, EffectState, effect_key, effect_row, latest, read_effect
from shared.jobs import Category, Job
from shared.ports import RowKind
from shared.services import Services
from tests.support.cases import failure, filed_job
from tests.support.fakes import World


def an_effect(job: Job, action: str, **changes: Any) -> EffectRecord:
    """An intent without a result whose call is over, with `changes`."""
    generation = changes.get("generation", 0)
    given: dict[str, Any] = {
        "action": action,
        "generation": generation,
        "state": EffectState.INTENDED,
        "key": effect_key(job.job_id, action, generation),
        "provider": "videos",
        "contract_version": 1,
        "request_sha256": "0" * 64,
        "release": job.release,
        "intended_at": job.created_at - timedelta(minutes=1),
        "call_until": job.created_at - timedelta(seconds=30),
    }
    return EffectRecord(**(given | changes))


async def put_effect(world: World, job: Job, record: EffectRecord) -> None:
    await world.jobs.add_row(job.job_id, effect_row(record))


async def effect_of(world: World, job: Job, action: str) -> EffectRecord:
    """What the ledger knows of the action's last generation."""
    rows = await world.jobs.rows(job.job_id, RowKind.EFFECT)
    found = latest([read_effect(row) for row in rows], action)
    assert found is not None
    return found


async def job_of_unknown_outcome(
    services: Services, world: World, *actions: str, event_id: str = "evt_1", **changes: Any
) -> Job:
    """A dead job with a filed case, and an open intent for each of `actions`."""
    unknown = failure(world, code="outcome_unknown", category=Category.RECONCILE)
    job = await filed_job(
        services, world, event_id, **({"failure": unknown, "open_effects": actions} | changes)
    )
    for action in actions:
        await put_effect(world, job, an_effect(job, action))
    return job
