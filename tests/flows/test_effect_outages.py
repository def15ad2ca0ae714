"""Broker, storage and host go away in the middle of jobs with three effects: nothing is doubled or lost.

The outages follow each other while jobs are on their way, those of earlier outages too. Then an operator
who tells the truth settles what nobody else can know, as in the kill matrix.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from devhost.stack import Part
from tests.flows.matrix import ACTIONS, Matrix, running_matrix

pytestmark = [
    pytest.mark.flows,
    pytest.mark.kills,
    pytest.mark.slow,  # nine outages, some longer than a lease, and what they leave open is settled after
    pytest.mark.timeout(1800),
]

JOBS = 2
"""That begin with each outage."""
FROZEN_SECONDS = 8.0
"""Longer than a lease of these jobs."""
REFUSED_SECONDS = 3.0
CUTS = 8
STORAGE = ("table", "blob")


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    with running_matrix(tmp_path_factory.mktemp("effect-outages"), proxied=True) as running:
        yield running


def _broker_killed(matrix: Matrix) -> None:
    matrix.flow.stack.kill(Part.BROKER)
    matrix.flow.stack.wait_ready(Part.BROKER)


def _broker_cut(matrix: Matrix) -> None:
    for _ in range(CUTS):
        matrix.flow.stack.proxies["broker"].cut()
        time.sleep(0.1)


def _storage_frozen(matrix: Matrix) -> None:
    matrix.flow.stack.freeze(Part.AZURITE)
    time.sleep(FROZEN_SECONDS)
    matrix.flow.stack.thaw(Part.AZURITE)


def _storage_cut(matrix: Matrix) -> None:
    for _ in range(CUTS):
        for link in STORAGE:
            matrix.flow.stack.proxies[link].cut()
        time.sleep(0.1)


def _storage_answers_lost(matrix: Matrix) -> None:
    """What was written was written, and the host cannot know."""
    for _ in range(CUTS):
        matrix.flow.stack.proxies["table"].lose_answers()
        time.sleep(0.1)


def _storage_refusing(matrix: Matrix) -> None:
    for link in STORAGE:
        matrix.flow.stack.proxies[link].refuse()
    time.sleep(REFUSED_SECONDS)
    for link in STORAGE:
        matrix.flow.stack.proxies[link].heal()


def _storage_restarted(matrix: Matrix) -> None:
    matrix.flow.stack.restart(Part.AZURITE)


def _host_stopped(matrix: Matrix) -> None:
    """By SIGTERM, in the middle of a call that was carried out and is not answered yet."""
    matrix.outside.script("POST", "/effects/blind", {"hold": "stopping", "after": True})
    matrix.deliver(blind=[])
    matrix.outside.wait_held("stopping")
    stopping = threading.Thread(target=matrix.flow.stack.end, args=(Part.HOST,))
    stopping.start()
    matrix.outside.release("stopping")
    stopping.join()
    matrix.flow.stack.resume(Part.HOST)


def _host_stopped_without_an_answer(matrix: Matrix) -> None:
    """The call's time runs out while the host drains."""
    matrix.outside.script("POST", "/effects/blind", {"hold": "never", "after": True})
    matrix.deliver(blind=[])
    matrix.outside.wait_held("never")
    matrix.flow.stack.restart(Part.HOST)
    matrix.outside.release("never")


OUTAGES: tuple[Callable[[Matrix], None], ...] = (
    _broker_killed,
    _broker_cut,
    _storage_frozen,
    _storage_cut,
    _storage_answers_lost,
    _storage_refusing,
    _storage_restarted,
    _host_stopped,
    _host_stopped_without_an_answer,
)


def test_outages_of_every_part_in_mid_work_double_and_lose_nothing(matrix: Matrix) -> None:
    began: dict[str, str] = {}
    for outage in OUTAGES:
        jobs = [matrix.deliver() for _ in range(JOBS)]
        matrix.flow.wait_until(
            lambda jobs=jobs: any(matrix.happened(job_id, "keyed") for job_id in jobs),  # type: ignore[misc]
            "a job is in mid-work",
        )
        outage(matrix)
        began |= {job_id: outage.__name__ for job_id in matrix.jobs if job_id not in began}
    with ThreadPoolExecutor(JOBS) as pool:
        ended = dict(zip(began, pool.map(matrix.settle, began), strict=True))
    lost = {
        job_id: began[job_id]
        for job_id, job in ended.items()
        if job["status"] != "succeeded" or not all(matrix.happened(job_id, action) for action in ACTIONS)
    }
    assert (matrix.doubled(), lost) == ([], {})
    for job_id, job in ended.items():
        matrix.flow.wait_open_index_without(job_id)
        told = [row["event"] for row in job["timeline"]]
        assert told.count("succeeded") == 1, began[job_id]
        assert len(matrix.flow.results(job_id)) == 1
        assert matrix.flow.cases(job_id) == []
