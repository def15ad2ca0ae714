"""The host dies by SIGKILL at each point of a reconciliation and of a cancel."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from azure.data.tables import TableServiceClient

from shared.adapters.table_rows import JOB_KEY, job_entity, read_job, row_entity
from shared.effects.records import effect_row
from shared.failpoints import Point
from tests.flows.driver import (
    TEXT,
    Flow,
    Reply,
    assert_one_open_case,
    assert_succeeded_once,
    event_id,
    running_flow,
)
from tests.support.effects import an_effect

pytestmark = [pytest.mark.flows, pytest.mark.kills]

RELEASING = [Point.RECONCILE_BEFORE_BATCH, Point.RECONCILE_BEFORE_SEND, Point.RECONCILE_AFTER_SEND]
RECORDING = [Point.RECONCILE_BEFORE_BATCH, Point.RECONCILE_AFTER_RECORD]
ENDING = [Point.CANCEL_BEFORE_BATCH, Point.CANCEL_AFTER_BATCH]
FLAGGING = [Point.CANCEL_AFTER_FLAG]
HONOURING = [Point.WORKER_BEFORE_CANCELLED, Point.WORKER_AFTER_CANCELLED]
POINTS = {*RELEASING, *RECORDING, *ENDING, *FLAGGING, *HONOURING}
DONE = {"effect": "submit", "outcome": "done", "external_id": "video_7"}


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    with running_flow(tmp_path_factory.mktemp("reconcile")) as running:
        yield running


def dead_job(flow: Flow, name: str, *open_effects: str) -> str:
    """A dead job with a filed case, whose document is there by now, and with intents nobody knows more of."""
    document = f"missing-{name}.txt"
    payload = {"document": f"inputs/documents/{document}"}
    job_id = flow.deliver_until_accepted(event_id(), payload, action="document")
    assert_one_open_case(flow, job_id, "document_missing")
    flow.put_document(document, TEXT.encode())
    _open(flow, job_id, open_effects)
    return job_id


def _open(flow: Flow, job_id: str, actions: tuple[str, ...]) -> None:
    """As a worker leaves it that died between an intent and its result."""
    with TableServiceClient.from_connection_string(flow.stack.storage) as service:
        table = service.get_table_client("jobs")
        job = replace(read_job(table.get_entity(job_id, JOB_KEY)), open_effects=actions)
        for action in actions:
            table.upsert_entity(row_entity(job_id, effect_row(an_effect(job, action))))
        table.upsert_entity(job_entity(job))


def effects(flow: Flow, job_id: str) -> dict[str, tuple[str, str | None]]:
    shown = flow.get(f"dead-letters/{job_id}").document["effects"]
    return {effect["action"]: (effect["state"], effect.get("external_id")) for effect in shown}


@pytest.mark.slow  # the kill matrix kills here in every run
@pytest.mark.parametrize("point", RELEASING)
def test_a_reconciliation_cut_off_by_a_kill_and_repeated_releases_the_job_once(
    flow: Flow, point: Point
) -> None:
    job_id, key = dead_job(flow, f"{point}-last", "submit"), event_id()
    flow.failpoints.kill(point)
    assert flow.decide(job_id, "reconcile", key, **DONE).status == 0
    answer = flow.decide_until_accepted(job_id, "reconcile", key, **DONE)
    assert answer == {"job_id": job_id, "release": 1}
    assert_succeeded_once(flow, job_id)
    assert effects(flow, job_id) == {"submit": ("done", "video_7")}
    assert len(flow.cases(job_id, "resubmitted")) == 1


def test_a_reconciliation_that_was_written_but_not_sent_is_sent_by_the_sweep(flow: Flow) -> None:
    job_id = dead_job(flow, "unsent", "submit")
    flow.failpoints.kill(Point.RECONCILE_BEFORE_SEND)
    assert flow.decide(job_id, "reconcile", event_id(), **DONE).status == 0
    assert_succeeded_once(flow, job_id)


@pytest.mark.parametrize("point", RECORDING)
def test_one_of_two_outcomes_cut_off_by_a_kill_and_repeated_is_recorded_once(
    flow: Flow, point: Point
) -> None:
    job_id, key = dead_job(flow, f"{point}-first", "submit", "announce"), event_id()
    flow.failpoints.kill(point)
    assert flow.decide(job_id, "reconcile", key, **DONE).status == 0
    answer = flow.decide_until_accepted(job_id, "reconcile", key, **DONE)
    assert answer == {"job_id": job_id, "status": "dead", "remaining": ["announce"]}
    assert flow.decide(job_id, "resubmit", event_id()).document["code"] == "outcome_unknown"
    flow.decide_until_accepted(job_id, "reconcile", event_id(), effect="announce", outcome="not_done")
    assert_succeeded_once(flow, job_id)
    assert effects(flow, job_id) == {"submit": ("done", "video_7"), "announce": ("failed", None)}
    shown = flow.get(f"dead-letters/{job_id}").document["decisions"]
    assert sorted(decision["effect"] for decision in shown) == ["announce", "submit"]


@pytest.mark.slow  # the kill matrix kills here in every run
@pytest.mark.parametrize("point", ENDING)
def test_a_cancel_of_a_waiting_job_cut_off_by_a_kill_and_repeated_ends_it(flow: Flow, point: Point) -> None:
    job_id, key = dead_job(flow, f"{point}-waiting"), event_id()
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    flow.decide_until_accepted(job_id, "resubmit", event_id(), at=later)
    flow.failpoints.kill(point)
    assert cancel(flow, job_id, key).status == 0
    if point is Point.CANCEL_BEFORE_BATCH:
        flow.wait_until(lambda: cancel(flow, job_id, key).status == 200, f"{job_id} is cancelled")
    assert_cancelled(flow, job_id)


@pytest.mark.slow  # the kill matrix kills here in every run
@pytest.mark.parametrize("point", FLAGGING)
def test_a_cancel_of_a_running_job_whose_answer_a_kill_takes_is_honoured(flow: Flow, point: Point) -> None:
    flow.failpoints.hold(Point.TASK_RUNNING)
    job_id = flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} To be cancelled at {point}."})
    flow.failpoints.wait_held(Point.TASK_RUNNING)
    flow.failpoints.kill(point)
    assert cancel(flow, job_id, event_id()).status == 0
    assert_cancelled(flow, job_id)


@pytest.mark.slow  # the kill matrix kills here in every run
@pytest.mark.parametrize("point", HONOURING)
def test_a_worker_killed_while_it_honours_a_cancel_ends_the_job_all_the_same(
    flow: Flow, point: Point
) -> None:
    flow.failpoints.hold(Point.TASK_RUNNING)
    job_id = flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} To be cancelled, then {point}."})
    flow.failpoints.wait_held(Point.TASK_RUNNING)
    flow.failpoints.kill(Point.CANCEL_AFTER_FLAG)
    flow.failpoints.kill(point)
    assert cancel(flow, job_id, event_id()).status == 0
    flow.failpoints.wait_fired(point, timeout=60)
    assert_cancelled(flow, job_id)


def cancel(flow: Flow, job_id: str, key: str) -> Reply:
    return flow.post(f"jobs/{job_id}/cancel", key, {"operator": "on-call", "reason": "looked at it"})


def assert_cancelled(flow: Flow, job_id: str) -> None:
    """It ended so, once, and nothing is left of it."""
    job = flow.wait_for(f"jobs/{job_id}", status="cancelled")
    flow.wait_open_index_without(job_id)
    assert [row["event"] for row in job["timeline"]].count("cancelled") == 1
    assert flow.results(job_id) == []
    assert flow.cases(job_id) == []
