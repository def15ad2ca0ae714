"""How jobs and cases look in JSON: the shapes that callers rely on."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from shared.deadletters.ports import Case
from shared.effects.records import EffectRecord
from shared.jobs import Failure, Job, JobState, Review
from shared.notify.announcement import Announcement
from shared.notify.status import NotificationState
from shared.pending_reviews import PendingReview
from shared.ports import Row

PUBLISHED = frozenset({None, Review.APPROVED})
"""Of these a result is shown and told."""
FAILED = frozenset({JobState.DEAD, JobState.CLOSED})
"""In these a job's failure is that of its present release; before, it is an earlier one's."""


def time_text(at: datetime) -> str:
    """RFC 3339 in UTC, as in `2026-07-27T10:15:00.120Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def job_view(
    job: Job,
    timeline: Iterable[Row],
    decisions: Iterable[Row] = (),
    notification: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    view: dict[str, Any] = {
        "job_id": job.job_id,
        "status": job.state.value,
        "task_type": job.task_type,
        "source": job.source,
        "event_type": job.event_type,
        "release": job.release,
        "attempt": job.attempt,
        "created_at": time_text(job.created_at),
        "updated_at": time_text(job.updated_at),
    }
    if job.input_ref is not None:
        view["input_ref"] = job.input_ref
    if job.not_before is not None:
        view["not_before"] = time_text(job.not_before)
    view |= _waiting_view(job)
    if job.result is not None and job.review in PUBLISHED:
        view["result_ref"] = job.result.ref
    if job.review is not None:
        view["review"] = job.review.value
    gone = {"inputs_gone": job.inputs_gone, "result_gone": job.result_gone}
    view |= {name: True for name, deleted in gone.items() if deleted}
    if job.failure is not None and job.state in FAILED:
        view["failure"] = failure_view(job.failure)
    if notification is not None:
        view["notification"] = dict(notification)
    if decided := [verdict_view(row) for row in decisions]:
        view["decisions"] = decided
    view["timeline"] = [timeline_view(row) for row in timeline]
    return view


def _waiting_view(job: Job) -> dict[str, Any]:
    """What of a wait, an open outcome or a cancel there is; nothing for most jobs."""
    shown: dict[str, Any] = {
        "waits": job.waits,
        "waiting_since": time_text(job.waiting_since) if job.waiting_since else None,
        "open_effects": list(job.open_effects),
        "cancel_requested": job.cancel_requested and not job.final,
    }
    return {name: value for name, value in shown.items() if value}


def effect_view(record: EffectRecord) -> dict[str, Any]:
    """An effect as it is needed to look for it at its provider; what the provider answered stays inside.

    `late` marks what a worker saw that had lost its claim.
    """
    shown: dict[str, Any] = {
        "action": record.action,
        "generation": record.generation,
        "state": record.state.value,
        "provider": record.provider,
        "key": record.key,
        "release": record.release,
        "intended_at": time_text(record.intended_at),
        "call_until": time_text(record.call_until),
        "external_id": record.external_id,
        "code": record.code,
        "operator": record.operator,
        "late": record.late or None,
    }
    return {name: value for name, value in shown.items() if value is not None}


def failure_view(failure: Failure) -> dict[str, Any]:
    return {**asdict(failure), "category": failure.category.value, "at": time_text(failure.at)}


def timeline_view(row: Row) -> dict[str, Any]:
    shown = {"at": time_text(datetime.fromisoformat(row.data["at"])), "event": row.data["event"]}
    more = ("release", "attempt", "code", "note")
    return shown | {name: row.data[name] for name in more if name in row.data}


def case_view(case: Case) -> dict[str, Any]:
    view = {name: value for name, value in asdict(case).items() if value is not None}
    view |= {"state": case.state.value, "category": case.category.value, "dead_at": time_text(case.dead_at)}
    if case.decided_at is not None:
        view["decided_at"] = time_text(case.decided_at)
    return view


def decision_view(row: Row) -> dict[str, Any]:
    """A decision without the caller's Idempotency-Key and its hash, which are for the machine."""
    hidden = {"idempotency_key", "request_hash"}
    view = {name: value for name, value in row.data.items() if name not in hidden and value is not None}
    return view | _times(row, "at")


def verdict_view(row: Row) -> dict[str, Any]:
    """Of a decision what whoever may see the job may know: who took it, when and why."""
    shown = ("at", "action", "operator", "reason", "release")
    return {name: value for name, value in decision_view(row).items() if name in shown}


def notification_view(state: NotificationState, announced: Announcement | None) -> dict[str, Any]:
    """How far the telling came: never what was posted, or where to."""
    view: dict[str, Any] = {"state": state.value}
    if announced is None:
        return view
    view |= {"type": announced.kind, "failed_attempts": announced.attempts}
    view |= {"code": announced.code} if announced.code is not None else {}
    view |= {"http_status": announced.status} if announced.status is not None else {}
    if state is NotificationState.WAITING:
        view["next_at"] = time_text(announced.due_at)
    return view


def pending_view(review: PendingReview) -> dict[str, Any]:
    """A job whose result waits; `since` when. Where the result lies is told once it is published."""
    view = {name: value for name, value in asdict(review).items() if value is not None}
    return view | {"released_at": time_text(review.released_at), "since": time_text(review.since)}


def attempt_view(row: Row) -> dict[str, Any]:
    return {**row.data, **_times(row, "started_at", "ended_at")}


def _times(row: Row, *names: str) -> dict[str, str]:
    return {name: time_text(datetime.fromisoformat(row.data[name])) for name in names if name in row.data}
