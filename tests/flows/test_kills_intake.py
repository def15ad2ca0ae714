"""The host dies by SIGKILL at each point of intake; the sender tries again, or does not."""

from collections.abc import Iterator

import pytest

from devhost.stack import Part
from shared.failpoints import Point
from tests.flows.driver import TEXT, Flow, assert_succeeded_once, event_id, running_flow, until_told
from tests.flows.every_scheme import jobs_of

pytestmark = [pytest.mark.flows, pytest.mark.kills]

POINTS = [point for point in Point if point.name.startswith("INTAKE_")]
STORED = (Point.INTAKE_BEFORE_SEND, Point.INTAKE_AFTER_SEND)


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    with running_flow(tmp_path_factory.mktemp("intake")) as running:
        yield running


@pytest.mark.parametrize("point", POINTS)
def test_a_host_killed_in_intake_acknowledged_nothing_and_the_next_delivery_runs_the_job_once(
    flow: Flow, point: Point
) -> None:
    event, payload = event_id(), {"text": f"{TEXT} This was about {point}."}
    flow.failpoints.kill(point)
    assert flow.deliver(event, payload).status == 0
    flow.failpoints.wait_fired(point)
    assert_succeeded_once(flow, flow.deliver_until_accepted(event, payload))


@pytest.mark.parametrize("point", STORED)
def test_a_job_that_was_stored_runs_although_the_sender_never_tries_again(flow: Flow, point: Point) -> None:
    event, payload = event_id(), {"text": f"{TEXT} Nobody repeats {point}."}
    before = jobs_of(flow)
    flow.failpoints.kill(point)
    assert flow.deliver(event, payload).status == 0
    flow.failpoints.wait_fired(point)
    (job_id,) = jobs_of(flow) - before
    assert_succeeded_once(flow, job_id)


def test_a_broker_killed_before_the_send_is_a_503_and_the_next_delivery_runs_the_job_once(flow: Flow) -> None:
    event, payload = event_id(), {"text": TEXT}
    flow.failpoints.hold(Point.INTAKE_BEFORE_SEND)
    flow.stack.kill(Part.BROKER, restart=False)
    flow.failpoints.release(Point.INTAKE_BEFORE_SEND)
    reply = until_told("queue_unavailable", lambda: flow.deliver(event, payload))
    assert reply.status == 503
    flow.stack.resume(Part.BROKER)
    assert_succeeded_once(flow, flow.deliver_until_accepted(event, payload))
