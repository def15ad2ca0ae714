"""Invented jobs, cases and messages for tests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.deadletters.ports import Case, CaseState
from shared.jobs import Category, Job
from shared.messages import JobMessage

MOMENT = datetime(2026, 7, 27, 10, 15, tzinfo=UTC)


def a_job(job_id: str = "job_a", **changes: Any) -> Job:
    """A queued job, with `changes`."""
    job = Job(
        job_id=job_id,
        source="github",
        account="42",
        event_id="evt_48320",
        event_type="issues.opened",
        task_type="summarize_document",
        user_id="user_204",
        body_sha256="0" * 64,
        input_ref="inputs/documents/plan.pdf",
        traceparent=None,
        created_at=MOMENT,
        updated_at=MOMENT,
        released_at=MOMENT,
    )
    return replace(job, **changes)


def a_case(job_id: str = "job_a", **changes: Any) -> Case:
    """An open case, with `changes`."""
    case = Case(
        job_id=job_id,
        release=0,
        state=CaseState.OPEN,
        category=Category.FIX_INPUT,
        code="unsupported_format",
        message="The document is in a format that is not read.",
        task_type="summarize_document",
        source="github",
        fingerprint="summarize_document.unsupported_format",
        attempts=1,
        dead_at=MOMENT,
        input_ref="inputs/documents/picture.png",
    )
    return replace(case, **changes)


def a_message(job_id: str = "job_a", **changes: Any) -> JobMessage:
    """The message of a queued job, with `changes`."""
    return replace(JobMessage.for_job(a_job(job_id)), **changes)


def minutes_later(minutes: float) -> datetime:
    """A time after the moment at which all these records were made."""
    return MOMENT + timedelta(minutes=minutes)
