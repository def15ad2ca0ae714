"""Reconciling: a person who looked at the provider says whether an effect happened.

What the person says becomes the ledger's record. While other outcomes of the job are unknown it stays dead;
after the last one it is released once more and goes on from there. Where a person called an effect done and
its job died again, as over a mistyped id, another word takes the place of that one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from shared.deadletters.decisions import (
    Decision,
    begin,
    check_written,
    fingerprint_of_request,
    kept_decision,
    load_job,
    said,
    same_request,
)
from shared.deadletters.open_effects import OpenEffects, open_effects, said_to_be_done
from shared.deadletters.ports import CaseState
from shared.deadletters.refusals import CallUnderWay, ChangedMeanwhile, NoOpenEffect
from shared.deadletters.release import Points, Released, next_release, release, release_again
from shared.effects.records import EffectRecord, EffectState, effect_row
from shared.errors import Conflict
from shared.failpoints import Point, reach
from shared.finishing import decision_key
from shared.jobs import Job
from shared.ports import Row, Snapshot
from shared.services import Services

NOT_DONE_CODE = "not_done"
_POINTS = Points(
    before_batch=Point.RECONCILE_BEFORE_BATCH,
    before_send=Point.RECONCILE_BEFORE_SEND,
    after_send=Point.RECONCILE_AFTER_SEND,
)


class Outcome(StrEnum):
    """What a person found at the provider."""

    DONE = "done"
    NOT_DONE = "not_done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """`external_id` is the provider's id of what it did: needed with `DONE`, None otherwise."""

    effect: str
    outcome: Outcome
    external_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Either other outcomes are still unknown (`remaining`), or the job was released once more."""

    job_id: str
    remaining: tuple[str, ...] = ()
    released: Released | None = None


async def reconcile(
    services: Services, job_id: str, decision: Decision, wanted: Reconciliation
) -> Reconciled:
    """Record the outcome, and let the job run on if none is unknown any more.

    Raises a Refusal, or StorageUnavailable.
    """
    if job_id.startswith("msg_"):
        raise NoOpenEffect
    request_hash = fingerprint_of_request(
        {
            "operator": decision.operator,
            "reason": decision.reason,
            "effect": wanted.effect,
            "outcome": wanted.outcome,
            "external_id": wanted.external_id,
        }
    )
    begun = await begin(services, job_id, decision, request_hash)
    if begun.earlier is not None:
        return await _again(services, begun.snapshot, begun.earlier)
    snapshot = begun.snapshot
    effects = await open_effects(services, snapshot.job)
    record = await _to_judge(services, snapshot.job, effects, wanted)
    if record is None:
        return await _nothing_open(services, snapshot, decision, request_hash)
    _check_call_over(record, wanted, services.clock.now())
    remaining = tuple(name for name in effects.unknown if name != wanted.effect)
    job = _after(services, snapshot.job, remaining)
    decided = _decided(snapshot.job, record, remaining, decision, wanted, request_hash, job.updated_at)
    rows = [
        *effects.rows(),
        effect_row(_judged(record, decision, wanted)),
        _told(services, job, record, decision, wanted),
    ]
    if remaining:
        done = await _record(services, snapshot, job, rows, decision, decided)
    else:
        released = await release(
            services, snapshot, job, rows, decision=decision, decided=decided, points=_POINTS
        )
        done = Reconciled(job_id=job_id, released=released)
    services.telemetry.count("effects_reconciled", outcome=wanted.outcome.value)
    return done


async def _to_judge(
    services: Services, job: Job, effects: OpenEffects, wanted: Reconciliation
) -> EffectRecord | None:
    """The open intent, or what a person said before if this is another word; None if there is neither."""
    if wanted.effect in effects.unknown:
        return effects.unknown[wanted.effect]
    before = await said_to_be_done(services, job, wanted.effect)
    same = wanted.outcome is Outcome.DONE and before is not None and before.external_id == wanted.external_id
    return None if same else before


def _check_call_over(record: EffectRecord, wanted: Reconciliation, now: datetime) -> None:
    """What is not there yet may still come while the call may be under way. Raises CallUnderWay."""
    if wanted.outcome is Outcome.NOT_DONE and now < record.call_until:
        raise CallUnderWay(record.call_until, now)


def _after(services: Services, job: Job, remaining: tuple[str, ...]) -> Job:
    """The job's row to write. The claim grows, so that no worker that lives somewhere can write any more."""
    now = services.clock.now()
    if remaining:
        return job.changed(now, claim=job.claim + 1, open_effects=remaining)
    return next_release(job, now, input_ref=job.input_ref)


def _told(
    services: Services, job: Job, record: EffectRecord, decision: Decision, wanted: Reconciliation
) -> Row:
    note = f"{record.action} by {decision.operator}"
    if record.operator is not None:
        note += f", instead of the word of {record.operator}"
    return services.timeline(job, "reconciled", at=job.updated_at, code=wanted.outcome.value, note=note)


def _decided(
    job: Job,
    record: EffectRecord,
    remaining: tuple[str, ...],
    decision: Decision,
    wanted: Reconciliation,
    request_hash: str,
    now: datetime,
) -> Row:
    return kept_decision(
        job,
        _key(job, record, last=not remaining),
        {
            "action": "reconcile",
            **said(decision, request_hash),
            "effect": record.action,
            "generation": record.generation,
            "outcome": wanted.outcome.value,
            "external_id": wanted.external_id,
            "instead_of": _word_before(record),
            "remaining": list(remaining),
        },
        now,
    )


def _key(job: Job, record: EffectRecord, *, last: bool) -> str:
    """The last one ends the case of its release, as a resubmit does; the others have keys of their own.

    A correction's key has the claim too, which each decision raises: it overwrites no word before it.
    """
    if last:
        return decision_key(job.release, CaseState.RESUBMITTED)
    corrected = f"-{job.claim:06d}" if record.operator is not None else ""
    return f"{job.release:06d}-reconciled-{record.action}-{record.generation:04d}{corrected}"


def _word_before(record: EffectRecord) -> dict[str, str | None] | None:
    """What a correction replaces, for the kept decision; None where nobody had said anything."""
    if record.operator is None:
        return None
    return {"operator": record.operator, "external_id": record.external_id}


def _judged(record: EffectRecord, decision: Decision, wanted: Reconciliation) -> EffectRecord:
    """The record as the person's word leaves it: done, or proven failed so that another may begin."""
    if wanted.outcome is Outcome.DONE:
        return replace(
            record,
            state=EffectState.DONE,
            external_id=wanted.external_id,
            code=None,
            operator=decision.operator,
        )
    return replace(
        record,
        state=EffectState.FAILED,
        external_id=None,
        code=NOT_DONE_CODE,
        operator=decision.operator,
    )


async def _record(
    services: Services, snapshot: Snapshot, job: Job, rows: list[Row], decision: Decision, decided: Row
) -> Reconciled:
    """Write the outcome of one effect of a job that stays dead because of others."""
    await reach(Point.RECONCILE_BEFORE_BATCH)
    try:
        await services.jobs.commit(snapshot, job, [*rows, decided])
    except Conflict:
        applied = False
    else:
        applied = True
    if not applied:
        await check_written(services, job.job_id, decision, decided)
    await reach(Point.RECONCILE_AFTER_RECORD)
    return Reconciled(job_id=job.job_id, remaining=job.open_effects)


async def _nothing_open(
    services: Services, snapshot: Snapshot, decision: Decision, request_hash: str
) -> Reconciled:
    """Where the job moved on between the readings of its row and its ledger, this may be a repeat after all.

    Otherwise raises NoOpenEffect, or ChangedMeanwhile.
    """
    job_id = snapshot.job.job_id
    earlier = await same_request(services, job_id, decision, request_hash)
    now = await load_job(services, job_id)
    if earlier is not None:
        return await _again(services, now, earlier)
    if now.version != snapshot.version:
        raise ChangedMeanwhile
    raise NoOpenEffect


async def _again(services: Services, snapshot: Snapshot, earlier: Mapping[str, Any]) -> Reconciled:
    """A repeat of an earlier request: the same answer, and what it left undone."""
    job_id, remaining = snapshot.job.job_id, tuple(earlier["remaining"])
    if remaining:
        return Reconciled(job_id=job_id, remaining=remaining)
    number = int(earlier["release"]) + 1
    return Reconciled(job_id=job_id, released=await release_again(services, snapshot, number))
