"""An operator's decision on a case: resubmit, close or reconcile. Each needs an operator and a reason, and
is kept."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shared.deadletters.filing import file_case
from shared.deadletters.ports import CaseState
from shared.deadletters.refusals import (
    AlreadyDone,
    CaseNotFound,
    ChangedMeanwhile,
    IdempotencyKeyReused,
    NotDead,
)
from shared.finishing import decision_key
from shared.jobs import Job, JobState
from shared.ports import Row, RowKind, Snapshot
from shared.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Who decides, why, and the caller's Idempotency-Key if there is one."""

    operator: str
    reason: str
    idempotency_key: str | None = None


def fingerprint_of_request(parts: Mapping[str, Any]) -> str:
    """A hash of what was asked for: tells a repeat from another request under the same key."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def decision_row(
    job: Job, state: CaseState, decision: Decision, request_hash: str, now: datetime, **more: Any
) -> Row:
    """The decision that ends the case. The key is one for each release and kind: there is no second one."""
    action = "close" if state is CaseState.CLOSED else "resubmit"
    key = decision_key(job.release, state)
    return kept_decision(job, key, {"action": action} | said(decision, request_hash) | more, now)


def kept_decision(job: Job, key: str, said: Mapping[str, Any], now: datetime) -> Row:
    """A row of the job's decisions, which are never overwritten or deleted."""
    return Row(kind=RowKind.DECISION, key=key, data={**said, "at": now.isoformat(), "release": job.release})


def said(decision: Decision, request_hash: str) -> dict[str, Any]:
    """What each kept decision of an operator says."""
    return {
        "operator": decision.operator,
        "reason": decision.reason,
        "idempotency_key": decision.idempotency_key,
        "request_hash": request_hash,
    }


@dataclass(frozen=True, slots=True)
class Begun:
    """The job to decide on, or, where `earlier` is its data, the decision that this request repeats."""

    snapshot: Snapshot
    earlier: Mapping[str, Any] | None = None


async def begin(services: Services, job_id: str, decision: Decision, request_hash: str) -> Begun:
    """Read what a decision is about. Raises a Refusal, or StorageUnavailable."""
    snapshot = await load_job(services, job_id)
    earlier = await same_request(services, job_id, decision, request_hash)
    if earlier is None:
        try:
            return Begun(await decidable(services, snapshot))
        except ChangedMeanwhile:
            earlier = await same_request(services, job_id, decision, request_hash)
            if earlier is None:
                raise
    # The row that was read first may be older than the decision.
    return Begun(await load_job(services, job_id), earlier)


async def same_request(
    services: Services, job_id: str, decision: Decision, request_hash: str
) -> Mapping[str, Any] | None:
    """The decision that this request repeats, if any. Raises IdempotencyKeyReused if it is another one."""
    earlier = await repeated(services, job_id, decision)
    if earlier is not None and earlier.get("request_hash") != request_hash:
        raise IdempotencyKeyReused
    return earlier


async def repeated(services: Services, job_id: str, decision: Decision) -> Mapping[str, Any] | None:
    """The decision that was made under this Idempotency-Key, if any."""
    if decision.idempotency_key is None:
        return None
    return await decision_under(services, job_id, decision.idempotency_key)


async def decision_under(services: Services, job_id: str, key: str) -> Mapping[str, Any] | None:
    """The decision of the job that was made under the Idempotency-Key `key`, if any."""
    for row in await services.jobs.rows(job_id, RowKind.DECISION):
        if row.data.get("idempotency_key") == key:
            return row.data
    return None


async def check_written(services: Services, job_id: str, decision: Decision, decided: Row) -> None:
    """After a conflict: passes if it was our own commit (its answer was lost) or that of the same request.

    Raises IdempotencyKeyReused if another request won under this key, else ChangedMeanwhile.
    """
    earlier = await repeated(services, job_id, decision)
    if earlier is not None:
        if earlier.get("request_hash") != decided.data["request_hash"]:
            raise IdempotencyKeyReused
        return
    stored = await services.jobs.row(job_id, RowKind.DECISION, decided.key)
    if stored is None or stored.data != decided.data:
        raise ChangedMeanwhile


async def load_job(services: Services, job_id: str) -> Snapshot:
    snapshot = await services.jobs.load(job_id)
    if snapshot is None:
        raise CaseNotFound
    return snapshot


async def decidable(services: Services, snapshot: Snapshot) -> Snapshot:
    """The job, if it is dead and its case is filed; otherwise raises the refusal that fits.

    A case that is seen in the list but not yet marked on the row is filed to its end first: an operator
    need not wait for a function that is at it, or died at it.
    """
    job = snapshot.job
    if job.final:
        raise AlreadyDone(f"The job is {job.state}; there is nothing to decide.")
    if job.state is not JobState.DEAD:
        raise NotDead(f"The job is {job.state}; a decision is possible once it is dead.")
    if job.case_filed:
        return snapshot
    await file_case(services, snapshot)
    filed = await load_job(services, job.job_id)
    if not filed.job.case_filed or filed.job.release != job.release:
        raise ChangedMeanwhile
    return filed
