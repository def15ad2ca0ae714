"""The host dies by SIGKILL at each point of the dead-letter function and of filing a case."""

from collections.abc import Iterator

import pytest

from devhost.stack import Part
from shared.failpoints import Point
from tests.flows.driver import Flow, assert_one_open_case, event_id, running_flow

pytestmark = [pytest.mark.flows, pytest.mark.kills]

BURYING = [Point.DEADLETTER_BEFORE_DEAD]
FILING = [
    point for point in Point if point.name.startswith(("DEADLETTER_", "CASE_")) and point not in BURYING
]
DELIVERIES = 5


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    # The sweep would run an unburied job again: here the dead-letter function itself must make it good.
    settings = {"SWEEP_GRACE_SECONDS": "120"}
    with running_flow(tmp_path_factory.mktemp("deadletters"), settings) as running:
        yield running


def deliver_missing(flow: Flow, name: object) -> str:
    payload = {"document": f"inputs/documents/none-{name}.txt"}
    return flow.deliver_until_accepted(event_id(), payload, action="document")


def fail_every_delivery(flow: Flow, job_document: str) -> str:
    """A job whose message is given up by the broker before any worker could claim it."""
    flow.failpoints.error(Point.WORKER_BEFORE_CLAIM, times=DELIVERIES)
    job_id = deliver_missing(flow, job_document)
    flow.failpoints.wait_fired(Point.WORKER_BEFORE_CLAIM)
    return job_id


@pytest.mark.parametrize("point", FILING)
def test_a_host_killed_while_filing_leaves_one_case(flow: Flow, point: Point) -> None:
    flow.failpoints.kill(point)
    job_id = deliver_missing(flow, point)
    flow.failpoints.wait_fired(point)
    assert_one_open_case(flow, job_id, "document_missing")


def test_a_message_that_never_came_to_an_outcome_becomes_a_crashed_case(flow: Flow) -> None:
    assert_one_open_case(flow, fail_every_delivery(flow, "unclaimed"), "crashed")


@pytest.mark.parametrize("point", BURYING)
def test_a_host_killed_before_it_buries_a_job_leaves_one_case(flow: Flow, point: Point) -> None:
    flow.failpoints.kill(point)
    job_id = fail_every_delivery(flow, str(point))
    flow.failpoints.wait_fired(point)
    assert_one_open_case(flow, job_id, "crashed")


def test_a_broker_killed_before_the_dead_letter_is_completed_leaves_one_case(flow: Flow) -> None:
    flow.failpoints.hold(Point.DEADLETTER_AFTER_CASE)
    job_id = deliver_missing(flow, "broker")
    flow.failpoints.wait_held(Point.DEADLETTER_AFTER_CASE)
    flow.stack.kill(Part.BROKER)
    flow.stack.wait_ready(Part.BROKER)
    flow.failpoints.release(Point.DEADLETTER_AFTER_CASE)
    assert_one_open_case(flow, job_id, "document_missing")


def test_a_host_killed_while_it_files_an_unreadable_message_leaves_one_case_with_its_bytes(
    flow: Flow,
) -> None:
    flow.failpoints.kill(Point.CASE_AFTER_CASE_ROW)
    flow.send_raw(b"\xff\xfe not one of ours")
    flow.failpoints.wait_fired(Point.CASE_AFTER_CASE_ROW)

    def unreadable() -> list[str]:
        reply = flow.get("dead-letters?category=unreadable")
        return [case["job_id"] for case in reply.document["cases"]] if reply.status == 200 else []

    flow.wait_until(lambda: len(unreadable()) == 1, "a case of the unreadable message")
    case = flow.get(f"dead-letters/{unreadable()[0]}").document
    assert case["job_id"].startswith("msg_")
    assert flow.blob(case["input_ref"]) == b"\xff\xfe not one of ours"
