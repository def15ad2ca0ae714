"""The reference message: its round trip, and every form that cannot be read."""

import json
from typing import Any

import pytest

from shared.errors import NewerSchema, UnreadableMessage
from shared.messages import JobMessage, read_message
from tests.support.application import new_job
from tests.support.fakes import World

PROPERTIES: dict[str, Any] = {"release": 0, "turn": 0}


def document(**changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(JobMessage.for_job(new_job(World())).body())
    return body | changes


def test_a_message_comes_back_as_it_was_sent() -> None:
    job = new_job(
        World(), release=2, turn=7, attempt=1, traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    )
    message = JobMessage.for_job(job)
    assert read_message(message.body(), message.properties()) == message


def test_the_body_carries_references_only() -> None:
    assert set(document()) == {
        "schema",
        "job_id",
        "event_id",
        "task_type",
        "input_ref",
        "user_id",
        "attempt",
        "created_at",
    }
    assert document()["created_at"] == "2026-07-27T10:15:00Z"


def test_the_message_id_names_job_release_and_turn() -> None:
    job = new_job(World(), release=2, turn=7)
    assert JobMessage.for_job(job).message_id == f"{job.job_id}:2:7"
    assert JobMessage.for_job(job, turn=8, attempt=1).message_id == f"{job.job_id}:2:8"


def test_input_and_user_may_be_absent() -> None:
    body = document()
    del body["input_ref"], body["user_id"]
    message = read_message(json.dumps(body).encode(), PROPERTIES)
    assert (message.input_ref, message.user_id, message.traceparent) == (None, None, None)


def test_a_newer_schema_is_told_from_nonsense() -> None:
    with pytest.raises(NewerSchema):
        read_message(b'{"schema":2,"anything":true}', {})


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"not json", b"[]", b'"text"', b"null", b"{}", b"[" * 100_000, b"9" * 5000]
)
def test_what_is_no_message_is_unreadable(body: bytes) -> None:
    with pytest.raises(UnreadableMessage):
        read_message(body, PROPERTIES)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("schema", "1"),
        ("schema", True),
        ("schema", -1),
        ("schema", 10**30),
        ("job_id", ""),
        ("job_id", 5),
        ("job_id", "job_short"),
        ("job_id", "job_" + "a" * 25 + "/"),
        ("job_id", "job_" + "a" * 26 + "\n"),
        ("event_id", None),
        ("event_id", "\ud800"),
        ("task_type", []),
        ("input_ref", 5),
        ("input_ref", "inputs/\udfff"),
        ("user_id", {}),
        ("attempt", 1.5),
        ("attempt", 2**31),
        ("created_at", "yesterday"),
        ("created_at", "2026-07-27T10:15:00"),
        ("created_at", "0001-01-01T00:00:00+23:59"),
        ("created_at", 0),
    ],
)
def test_a_wrong_field_is_unreadable_and_its_value_not_repeated(name: str, value: Any) -> None:
    with pytest.raises(UnreadableMessage) as caught:
        read_message(json.dumps(document(**{name: value})).encode(), PROPERTIES)
    assert name in str(caught.value)
    if isinstance(value, str) and value:
        assert value not in str(caught.value)


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"release": 0},
        {"turn": 0},
        {"release": "0", "turn": 0},
        {"release": -1, "turn": 0},
        {"release": 0, "turn": 2**40},
        {"release": 0, "turn": 0, "traceparent": 5},
    ],
)
def test_release_and_turn_are_required_of_the_properties(properties: dict[str, Any]) -> None:
    with pytest.raises(UnreadableMessage):
        read_message(json.dumps(document()).encode(), properties)
