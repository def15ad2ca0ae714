"""The reference message: what travels on the queue, and nothing more.

A message names a job; documents, prompts and results never travel. `release` and `turn` are application
properties beside the body, with the W3C trace context.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from shared.errors import NewerSchema, UnreadableMessage
from shared.jobs import JOB_ID, Job

SCHEMA = 1
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMessage:
    job_id: str
    event_id: str
    task_type: str
    input_ref: str | None
    user_id: str | None
    attempt: int
    created_at: datetime
    release: int
    turn: int
    traceparent: str | None = None

    @classmethod
    def for_job(cls, job: Job, *, turn: int | None = None, attempt: int | None = None) -> Self:
        return cls(
            job_id=job.job_id,
            event_id=job.event_id,
            task_type=job.task_type,
            input_ref=job.input_ref,
            user_id=job.user_id,
            attempt=job.attempt if attempt is None else attempt,
            created_at=job.created_at,
            release=job.release,
            turn=job.turn if turn is None else turn,
            traceparent=job.traceparent,
        )

    @property
    def message_id(self) -> str:
        """The id that duplicate detection compares: one for each turn of each release."""
        return f"{self.job_id}:{self.release}:{self.turn}"

    def body(self) -> bytes:
        document = {
            "schema": SCHEMA,
            "job_id": self.job_id,
            "event_id": self.event_id,
            "task_type": self.task_type,
            "input_ref": self.input_ref,
            "user_id": self.user_id,
            "attempt": self.attempt,
            "created_at": self.created_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        }
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()

    def properties(self) -> dict[str, str | int]:
        found: dict[str, str | int] = {"release": self.release, "turn": self.turn}
        if self.traceparent:
            found["traceparent"] = self.traceparent
        return found


def read_message(body: bytes, properties: Mapping[str, Any]) -> JobMessage:
    """The message in `body`. Raises UnreadableMessage, or NewerSchema for one of a later version."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise UnreadableMessage("The body is not JSON.") from None
    if not isinstance(document, dict):
        raise UnreadableMessage("The body is not a JSON object.")
    schema = _number(document, "schema")
    if schema > SCHEMA:
        raise NewerSchema(f"The message has schema {schema}; this version reads {SCHEMA}.")
    return JobMessage(
        job_id=_job_id(document),
        event_id=_text(document, "event_id"),
        task_type=_text(document, "task_type"),
        input_ref=_optional_text(document, "input_ref"),
        user_id=_optional_text(document, "user_id"),
        attempt=_number(document, "attempt"),
        created_at=_time(document, "created_at"),
        release=_number(properties, "release"),
        turn=_number(properties, "turn"),
        traceparent=_optional_text(properties, "traceparent"),
    )


def _job_id(document: Mapping[str, Any]) -> str:
    job_id = _text(document, "job_id")
    if not JOB_ID.fullmatch(job_id):
        raise UnreadableMessage("`job_id` is not a job's id.")
    return job_id


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise UnreadableMessage(f"`{name}` is missing or not text.")
    return _encodable(value, name)


def _encodable(value: str, name: str) -> str:
    """JSON can escape half a character, which could not be written again."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UnreadableMessage(f"`{name}` is not Unicode text.") from None
    return value


def _optional_text(document: Mapping[str, Any], name: str) -> str | None:
    value = document.get(name)
    if value is not None and not isinstance(value, str):
        raise UnreadableMessage(f"`{name}` is not text.")
    return None if value is None else _encodable(value, name)


def _number(document: Mapping[str, Any], name: str) -> int:
    value = document.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise UnreadableMessage(f"`{name}` is missing or not a whole number.")
    return value


def _time(document: Mapping[str, Any], name: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(_text(document, name))
        if parsed.tzinfo is None:
            raise UnreadableMessage(f"`{name}` has no time zone.")
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UnreadableMessage(f"`{name}` is not a time.") from None
