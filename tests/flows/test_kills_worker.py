"""The host dies by SIGKILL at each point of the worker; every job is done once all the same."""

from collections.abc import Iterator

import pytest

from devhost.stack import Part
from shared.failpoints import Point
from tests.flows.driver import (
    TEXT,
    Flow,
    assert_one_open_case,
    assert_succeeded_once,
    event_id,
    running_flow,
)

pytestmark = [pytest.mark.flows, pytest.mark.kills]

RETRYING = [Point.WORKER_AFTER_TURN_SENT, Point.WORKER_AFTER_TURN_WRITTEN]
DYING = [Point.WORKER_BEFORE_DEAD, Point.WORKER_AFTER_DEAD]
NUDGING = [Point.WORKER_AFTER_NUDGE]
SUCCEEDING = [
    Point.WORKER_BEFORE_CLAIM,
    Point.WORKER_AFTER_CLAIM,
    Point.TASK_RUNNING,
    Point.WORKER_BEFORE_RESULT_BLOB,
    Point.WORKER_AFTER_RESULT_BLOB,
    Point.WORKER_AFTER_SUCCESS,
    Point.WORKER_AFTER_OPEN_ROW_REMOVED,
]
ATTEMPT_SECONDS = 3.0


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    with running_flow(tmp_path_factory.mktemp("worker")) as running:
        yield running


@pytest.mark.slow  # the kill matrix kills here in every run
@pytest.mark.parametrize("point", SUCCEEDING)
def test_a_worker_killed_on_the_way_to_success_leaves_one_result(flow: Flow, point: Point) -> None:
    flow.failpoints.kill(point)
    job_id = flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} This was about {point}."})
    flow.failpoints.wait_fired(point)
    assert_succeeded_once(flow, job_id)


@pytest.mark.slow  # the kill matrix kills here in every run
@pytest.mark.parametrize("point", RETRYING)
def test_a_worker_killed_around_the_next_turn_neither_loses_nor_doubles_the_job(
    flow: Flow, point: Point
) -> None:
    flow.failpoints.sleep(Point.TASK_RUNNING, ATTEMPT_SECONDS + 1)
    flow.failpoints.kill(point)
    job_id = flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} Slow, then {point}."})
    flow.failpoints.wait_fired(point)
    assert_succeeded_once(flow, job_id)


@pytest.mark.slow  # the kill matrix kills here in every run
@pytest.mark.parametrize("point", NUDGING)
def test_a_worker_killed_between_its_nudge_and_its_return_keeps_the_only_message(
    flow: Flow, point: Point
) -> None:
    flow.failpoints.hold(Point.WORKER_BEFORE_RESULT_BLOB)
    job_id = flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} Twice interrupted."})
    flow.failpoints.wait_held(Point.WORKER_BEFORE_RESULT_BLOB)
    flow.failpoints.kill(point)
    flow.repeat_message(job_id)
    flow.failpoints.wait_fired(point)
    assert_succeeded_once(flow, job_id)


@pytest.mark.parametrize("point", DYING)
def test_a_worker_killed_around_writing_dead_leaves_one_case(flow: Flow, point: Point) -> None:
    flow.failpoints.kill(point)
    missing = {"document": f"inputs/documents/none-for-{point}.txt"}
    job_id = flow.deliver_until_accepted(event_id(), missing, action="document")
    flow.failpoints.wait_fired(point)
    assert_one_open_case(flow, job_id, "document_missing")


def test_five_kills_of_one_job_make_one_crashed_case(flow: Flow) -> None:
    flow.failpoints.kill(Point.TASK_RUNNING)
    job_id = flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} It kills its worker."})
    for _ in range(4):
        flow.failpoints.wait_fired(Point.TASK_RUNNING, timeout=60)
        flow.failpoints.kill(Point.TASK_RUNNING)
    flow.failpoints.wait_fired(Point.TASK_RUNNING, timeout=60)
    assert_one_open_case(flow, job_id, "crashed")


@pytest.mark.parametrize("point", [Point.TASK_RUNNING, Point.WORKER_AFTER_TURN_SENT])
def test_a_broker_killed_under_a_worker_neither_loses_nor_doubles_the_job(flow: Flow, point: Point) -> None:
    if point is Point.WORKER_AFTER_TURN_SENT:
        flow.failpoints.sleep(Point.TASK_RUNNING, ATTEMPT_SECONDS + 1)
    flow.failpoints.hold(point)
    job_id = flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} The broker went at {point}."})
    flow.failpoints.wait_held(point)
    flow.stack.kill(Part.BROKER)
    flow.stack.wait_ready(Part.BROKER)
    flow.failpoints.release(point)
    assert_succeeded_once(flow, job_id)


def test_a_worker_that_finishes_after_its_lease_ran_out_overwrites_nothing(flow: Flow) -> None:
    ref = flow.put_document("zombie.txt", TEXT.encode())
    flow.failpoints.hold(Point.WORKER_BEFORE_RESULT_BLOB)
    job_id = flow.deliver_until_accepted(event_id(), {"document": ref}, action="document")
    flow.failpoints.wait_held(Point.WORKER_BEFORE_RESULT_BLOB)
    flow.put_document("zombie.txt", b"The lighthouse was painted white. Its lamp was turned to the north.")
    assert_succeeded_once(flow, job_id)
    before = flow.get(f"jobs/{job_id}").document, flow.get(f"jobs/{job_id}/result").document
    flow.failpoints.hold(Point.WORKER_AFTER_RESULT_BLOB)
    flow.failpoints.release(Point.WORKER_BEFORE_RESULT_BLOB)
    flow.failpoints.wait_held(Point.WORKER_AFTER_RESULT_BLOB)
    flow.failpoints.release(Point.WORKER_AFTER_RESULT_BLOB)
    assert_succeeded_once(flow, flow.deliver_until_accepted(event_id(), {"text": "Another job. It ends."}))
    assert (flow.get(f"jobs/{job_id}").document, flow.get(f"jobs/{job_id}/result").document) == before
    assert "lighthouse" in before[1]["summary"]
