"""The host dies by SIGKILL at each point of an operator's decision, and of the sweep."""

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

RESUBMITTING = [point for point in Point if point.name.startswith("RESUBMIT_")]
CLOSING = [point for point in Point if point.name.startswith("CLOSE_")]
SWEEPING = [point for point in Point if point.name.startswith("SWEEP_")]


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    with running_flow(tmp_path_factory.mktemp("operator")) as running:
        yield running


def dead_job(flow: Flow, name: object) -> str:
    payload = {"document": f"inputs/documents/none-{name}.txt"}
    job_id = flow.deliver_until_accepted(event_id(), payload, action="document")
    assert_one_open_case(flow, job_id, "document_missing")
    return job_id


@pytest.mark.parametrize("point", RESUBMITTING)
def test_a_resubmit_cut_off_by_a_kill_and_repeated_releases_the_job_once(flow: Flow, point: Point) -> None:
    job_id, key = dead_job(flow, point), event_id()
    flow.failpoints.kill(point)
    assert flow.decide(job_id, "resubmit", key, input=f"{TEXT} {point}.").status == 0
    answer = flow.decide_until_accepted(job_id, "resubmit", key, input=f"{TEXT} {point}.")
    assert answer == {"job_id": job_id, "release": 1}
    assert_succeeded_once(flow, job_id)
    assert len(flow.cases(job_id, "resubmitted")) == 1


def test_a_resubmit_that_was_written_but_not_sent_is_sent_by_the_sweep(flow: Flow) -> None:
    job_id = dead_job(flow, "unsent")
    flow.failpoints.kill(Point.RESUBMIT_BEFORE_SEND)
    assert flow.decide(job_id, "resubmit", event_id(), input=TEXT).status == 0
    assert_succeeded_once(flow, job_id)
    assert len(flow.cases(job_id, "resubmitted")) == 1


def test_a_broker_killed_before_a_resubmit_is_sent_delays_it(flow: Flow) -> None:
    job_id = dead_job(flow, "broker")
    flow.stack.kill(Part.BROKER, restart=False)
    reply = flow.decide(job_id, "resubmit", event_id(), input=TEXT)
    assert (reply.status, reply.document["release"]) == (202, 1)
    assert "queue is away" in reply.document["detail"]
    flow.stack.resume(Part.BROKER)
    assert_succeeded_once(flow, job_id)


@pytest.mark.parametrize("point", CLOSING)
def test_a_close_cut_off_by_a_kill_leaves_no_open_case(flow: Flow, point: Point) -> None:
    job_id = dead_job(flow, point)
    flow.failpoints.kill(point)
    assert flow.decide(job_id, "close", event_id()).status == 0
    flow.wait_for(f"jobs/{job_id}", status="closed")
    flow.wait_open_index_without(job_id)
    assert flow.cases(job_id) == []
    assert len(flow.cases(job_id, "closed")) == 1


@pytest.mark.parametrize("point", SWEEPING)
def test_a_sweep_killed_after_its_nudge_leaves_the_job_done_once(flow: Flow, point: Point) -> None:
    event, payload = event_id(), {"text": f"{TEXT} Forgotten."}
    flow.failpoints.kill(Point.INTAKE_BEFORE_SEND)
    flow.failpoints.kill(point)
    assert flow.deliver(event, payload).status == 0
    flow.failpoints.wait_fired(point, timeout=60)
    flow.wait_until(lambda: flow.get("health").status == 200, "the host is back")
    assert_succeeded_once(flow, flow.deliver_until_accepted(event, payload))
