"""Storage goes away for a minute while a hundred jobs wait: no case, and all finish."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from devhost.stack import Part
from tests.flows.driver import TEXT, Flow, event_id, running_flow

pytestmark = pytest.mark.flows

JOBS = 100
OUTAGE_SECONDS = 60


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    with running_flow(tmp_path_factory.mktemp("outages")) as running:
        yield running


def test_storage_away_for_a_minute_with_a_hundred_jobs_waiting_makes_no_case(flow: Flow) -> None:
    def deliver(number: int) -> str:
        return flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} Number {number}."})

    with ThreadPoolExecutor(8) as pool:
        job_ids = list(pool.map(deliver, range(JOBS)))
    flow.stack.freeze(Part.AZURITE)
    time.sleep(OUTAGE_SECONDS / 2)
    flow.stack.thaw(Part.AZURITE)
    flow.stack.end(Part.AZURITE)
    time.sleep(OUTAGE_SECONDS / 2)
    flow.stack.resume(Part.AZURITE)
    for job_id in job_ids:
        flow.wait_for(f"jobs/{job_id}", status="succeeded")
    flow.wait_until(lambda: not flow.row_keys("open"), "the open index is empty")
    assert flow.get("dead-letters?state=open").document["cases"] == []
