"""How jobs and cases look in JSON: the shapes that callers rely on."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from shared.jobs import Failure, Job
from shared.ports import Case, Row


def time_text(at: datetime) -> str:
    """RFC 3339 in UTC, as in `2026-07-27T10:15:00.120Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def job_view(job: Job, timeline: Iterable[Row]) -> dict[str, Any]:
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
    if job.result is not None:
        view["result_ref"] = job.result.ref
    if job.failure is not None:
        view["failure"] = failure_view(job.failure)
    view["timeline"] = [timeline_view(row) for row in timeline]
    return view


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


def attempt_view(row: Row) -> dict[str, Any]:
    return {**row.data, **_times(row, "started_at", "ended_at")}


def _times(row: Row, *names: str) -> dict[str, str]:
    return {name: time_text(datetime.fromisoformat(row.data[name])) for name in names if name in row.data}
