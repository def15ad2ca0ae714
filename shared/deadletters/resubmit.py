"""Resubmitting a dead job: a new release, with the same input or a better one."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from shared.deadletters.decisions import Decision, begin, decision_row, fingerprint_of_request
from shared.deadletters.open_effects import open_effects
from shared.deadletters.ports import CaseState
from shared.deadletters.refusals import InputRefused, NotResubmittable, OutcomeUnknown
from shared.deadletters.release import Points, Released, next_release, release, release_again
from shared.failpoints import Point
from shared.inputs import exists, may_use, place_input, store_input
from shared.jobs import Job
from shared.ports import Row
from shared.refs import parse_ref
from shared.services import Services

_POINTS = Points(
    before_batch=Point.RESUBMIT_BEFORE_BATCH,
    before_send=Point.RESUBMIT_BEFORE_SEND,
    after_send=Point.RESUBMIT_AFTER_SEND,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resubmission:
    """What to run: at most one of `input_ref` and `content` replaces the input; `at` delays the start.

    A time that has passed delays nothing.
    """

    input_ref: str | None = None
    content: bytes | None = None
    content_type: str | None = None
    at: datetime | None = None


async def resubmit(services: Services, job_id: str, decision: Decision, wanted: Resubmission) -> Released:
    """Release the job once more. Raises a Refusal, or StorageUnavailable."""
    if job_id.startswith("msg_"):
        raise NotResubmittable
    request_hash = fingerprint_of_request(
        {
            "operator": decision.operator,
            "reason": decision.reason,
            "input_ref": wanted.input_ref,
            "content": wanted.content.hex() if wanted.content is not None else None,
            "at": wanted.at,
        }
    )
    begun = await begin(services, job_id, decision, request_hash)
    if begun.earlier is not None:
        return await release_again(services, begun.snapshot, int(begun.earlier["release"]) + 1)
    earlier = begun.snapshot.job
    effects = await open_effects(services, earlier)
    if effects.unknown:
        raise OutcomeUnknown(_reconcile_first(effects.unknown))
    now = services.clock.now()
    input_ref, rows = await _input(services, earlier, wanted)
    not_before = wanted.at if wanted.at is not None and wanted.at > now else None
    job = next_release(earlier, now, input_ref=input_ref, not_before=not_before)
    job = replace(job, cancel_requested=False)
    decided = decision_row(
        earlier,
        CaseState.RESUBMITTED,
        decision,
        request_hash,
        job.updated_at,
        input_ref=input_ref,
        earlier_input_ref=earlier.input_ref,
    )
    rows += [*effects.rows(), services.timeline(job, "resubmitted", at=job.updated_at)]
    if input_ref != earlier.input_ref:
        note = f"by {decision.operator}: {input_ref} instead of {earlier.input_ref or 'none'}"
        rows.append(services.timeline(job, "input_changed", at=job.updated_at, note=note))
    done = await release(
        services, begun.snapshot, job, rows, decision=decision, decided=decided, points=_POINTS
    )
    services.telemetry.count("cases_resubmitted", task_type=job.task_type)
    return done


def _reconcile_first(unknown: Iterable[str]) -> str:
    names = ", ".join(f"`{name}`" for name in unknown)
    return f"Nobody knows whether the outside carried out {names}. Reconcile first."


async def _input(services: Services, job: Job, wanted: Resubmission) -> tuple[str | None, list[Row]]:
    """The input of the next release, and the rows of a new one, whose blob is stored on the way."""
    if wanted.content is not None:
        placed = place_input(job.job_id, wanted.content, wanted.content_type)
        await store_input(services, placed)
        return placed.ref, [placed.row] if placed.row else []
    if wanted.input_ref is not None:
        await _check_ref(services, job, wanted.input_ref)
        return wanted.input_ref, []
    return job.input_ref, []


async def _check_ref(services: Services, job: Job, ref: str) -> None:
    try:
        parse_ref(ref)
    except ValueError as error:
        raise InputRefused(f"`input_ref` is not a reference: {error}") from None
    if not may_use(services, job, ref):
        raise InputRefused("`input_ref` lies outside what the job's source may read (allowed_inputs).")
    if not await exists(services, job.job_id, ref):
        raise InputRefused("There is no document at `input_ref`. Upload it first.")
