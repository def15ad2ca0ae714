"""The stored form of records."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.deadletters.ports import Case, CaseState, Group
from shared.jobs import Category, Failure, Job, JobState, Lease, StoredResult
from shared.records import RecordUnreadable, data_from_text, data_to_text, from_text, to_text
from tests.support.records import a_case, a_job

T = TypeVar("T")
_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_TIMES = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]))
_COUNTS = st.integers(0, 2**40)


def _maybe(inner: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    return st.none() | inner


_FAILURES = st.builds(
    Failure,
    code=_TEXT,
    category=st.sampled_from(Category),
    message=_TEXT,
    at=_TIMES,
    attempts=_COUNTS,
    worker=_TEXT,
    app_version=_TEXT,
    input_ref=_maybe(_TEXT),
)
_JOBS = st.builds(
    Job,
    job_id=_TEXT,
    source=_TEXT,
    account=_TEXT,
    event_id=_TEXT,
    event_type=_TEXT,
    task_type=_TEXT,
    user_id=_maybe(_TEXT),
    body_sha256=_TEXT,
    input_ref=_maybe(_TEXT),
    traceparent=_maybe(_TEXT),
    created_at=_TIMES,
    updated_at=_TIMES,
    released_at=_TIMES,
    event_time=_maybe(_TIMES),
    state=st.sampled_from(JobState),
    release=_COUNTS,
    turn=_COUNTS,
    claim=_COUNTS,
    attempt=_COUNTS,
    crashes=_COUNTS,
    lease=_maybe(st.builds(Lease, token=_TEXT, until=_TIMES)),
    not_before=_maybe(_TIMES),
    failure=_maybe(_FAILURES),
    result=_maybe(st.builds(StoredResult, ref=_TEXT, content_type=_TEXT, sha256=_TEXT, size=_COUNTS)),
    case_release=_maybe(_COUNTS),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(_JOBS)
def test_every_job_comes_back_equal(job: Job) -> None:
    assert from_text(Job, to_text(job)) == job


@given(
    st.builds(
        Case,
        job_id=_TEXT,
        release=_COUNTS,
        state=st.sampled_from(CaseState),
        category=st.sampled_from(Category),
        code=_TEXT,
        message=_TEXT,
        task_type=_TEXT,
        source=_TEXT,
        fingerprint=_TEXT,
        attempts=_COUNTS,
        dead_at=_TIMES,
        input_ref=_maybe(_TEXT),
        operator=_maybe(_TEXT),
        reason=_maybe(_TEXT),
        decided_at=_maybe(_TIMES),
    )
)
def test_every_case_comes_back_equal(case: Case) -> None:
    assert from_text(Case, to_text(case)) == case


@given(_JOBS, st.dictionaries(st.text(min_size=1).map(lambda name: f"new_{name}"), _JSON, max_size=3))
def test_fields_of_a_newer_version_are_skipped(job: Job, newer: dict[str, object]) -> None:
    document = {**json.loads(to_text(job)), **newer}
    assert from_text(Job, json.dumps(document)) == job


def test_the_record_of_an_older_version_gets_the_defaults_of_new_fields() -> None:
    document = json.loads(to_text(a_job(crashes=3)))
    del document["crashes"], document["lease"]
    assert from_text(Job, json.dumps(document)) == a_job()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"job_id": "a"}', to_text(a_job()).replace('"queued"', '"a_later_state"')],
)
def test_a_record_that_cannot_be_read_is_an_error_that_quotes_nothing(text: str) -> None:
    with pytest.raises(RecordUnreadable) as caught:
        from_text(Job, text)
    assert str(caught.value) == "A stored Job has a form that this version does not know."
    assert caught.value.__suppress_context__


def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(ValueError, match="A Job holds a value"):
        to_text(a_job(event_id="\ud800"))


def test_records_are_readable_json_with_plain_names() -> None:
    document = json.loads(to_text(replace(a_case(), state=CaseState.CLOSED)))
    assert document["state"] == "closed"
    assert document["category"] == "fix_input"
    assert document["dead_at"] == "2026-07-27T10:15:00Z"


def test_times_come_back_aware() -> None:
    group = Group(
        fingerprint="f",
        task_type="t",
        code="c",
        category=Category.CRASHED,
        count=1,
        first_seen=datetime(2026, 7, 27, tzinfo=UTC),
        alerted=False,
    )
    assert from_text(Group, to_text(group)).first_seen.utcoffset() == timedelta(0)


@given(st.dictionaries(st.text(), _JSON))
def test_every_json_object_comes_back_as_row_data(data: dict[str, object]) -> None:
    assert data_from_text(data_to_text(data)) == data


@pytest.mark.parametrize("text", ["", "[]", "1", "{", "null"])
def test_row_data_that_is_no_object_cannot_be_read(text: str) -> None:
    with pytest.raises(RecordUnreadable):
        data_from_text(text)


@pytest.mark.parametrize("value", [object(), float("inf"), float("nan"), b"x", {1, 2}])
def test_row_data_that_json_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="JSON cannot carry"):
        data_to_text({"value": value})
