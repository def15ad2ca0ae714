"""Rows as callers see them."""

from shared.http.views import attempt_view, decision_view
from shared.ports import Row, RowKind


def test_the_times_of_an_attempt_have_the_form_of_all_others() -> None:
    row = Row(
        kind=RowKind.ATTEMPT,
        key="000000-0000-000001",
        data={
            "started_at": "2026-07-27T12:15:00+02:00",
            "ended_at": "2026-07-27T10:15:01.123456+00:00",
            "outcome": "succeeded",
        },
    )
    assert attempt_view(row) == {
        "started_at": "2026-07-27T10:15:00.000Z",
        "ended_at": "2026-07-27T10:15:01.123Z",
        "outcome": "succeeded",
    }


def test_a_decision_has_its_time_in_that_form_and_hides_what_is_for_the_machine() -> None:
    row = Row(
        kind=RowKind.DECISION,
        key="000000-closed",
        data={
            "action": "close",
            "at": "2026-07-27T10:15:00+00:00",
            "idempotency_key": "key-1",
            "request_hash": "00",
            "input_ref": None,
        },
    )
    assert decision_view(row) == {"action": "close", "at": "2026-07-27T10:15:00.000Z"}
