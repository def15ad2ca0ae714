"""Connections between the host and storage or bus are cut, refused, or cut after the effect."""

import time
from collections.abc import Iterator

import pytest

from shared.failpoints import Point
from tests.flows.driver import TEXT, Flow, assert_succeeded_once, event_id, running_flow

pytestmark = pytest.mark.flows

STORAGE = ("table", "blob")
CUTS = 20
REFUSED_SECONDS = 3.0


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    with running_flow(tmp_path_factory.mktemp("cuts"), proxied=True) as running:
        yield running


def test_jobs_whose_storage_connections_are_cut_again_and_again_are_done_once(flow: Flow) -> None:
    job_ids = []
    for number in range(CUTS):
        payload = {"text": f"{TEXT} Cut number {number}."}
        event = event_id()
        flow.deliver(event, payload)
        for link in STORAGE:
            flow.stack.proxies[link].cut()
        job_ids.append(flow.deliver_until_accepted(event, payload))
        for link in STORAGE:
            flow.stack.proxies[link].cut()
    assert len(set(job_ids)) == CUTS
    for job_id in job_ids:
        assert_succeeded_once(flow, job_id)


@pytest.mark.parametrize("point", [Point.WORKER_AFTER_CLAIM, Point.WORKER_AFTER_RESULT_BLOB])
def test_storage_that_refuses_a_worker_for_a_while_costs_nothing(flow: Flow, point: Point) -> None:
    flow.failpoints.hold(point)
    job_id = flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} Refused at {point}."})
    flow.failpoints.wait_held(point)
    for link in STORAGE:
        flow.stack.proxies[link].refuse()
    flow.failpoints.release(point)
    time.sleep(REFUSED_SECONDS)
    for link in STORAGE:
        flow.stack.proxies[link].heal()
    assert_succeeded_once(flow, job_id)


def test_a_broker_connection_cut_under_a_worker_neither_loses_nor_doubles_the_job(flow: Flow) -> None:
    flow.failpoints.hold(Point.WORKER_BEFORE_RESULT_BLOB)
    job_id = flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} The link was cut."})
    flow.failpoints.wait_held(Point.WORKER_BEFORE_RESULT_BLOB)
    flow.stack.proxies["broker"].cut()
    flow.failpoints.release(Point.WORKER_BEFORE_RESULT_BLOB)
    assert_succeeded_once(flow, job_id)
