"""A task with three effects is killed at every named point of worker, ledger, limits, waits and notification.

The jobs are alive at the same time, so each kill also meets others wherever they happen to be. Afterwards
an operator who tells the truth settles what nobody else can know, and the outside's own counters are the
judge: nothing happened twice, nothing is missing.
"""

from collections.abc import Callable, Iterator

import pytest

from shared.failpoints import Point
from tests.flows.matrix import ACTIONS, Matrix, running_matrix

pytestmark = [pytest.mark.flows, pytest.mark.kills, pytest.mark.timeout(1800)]

AREAS = ("WORKER", "TASK", "EFFECT", "LIMITS", "NOTIFY", "FINISH", "RECONCILE", "CANCEL")
ELSEWHERE = frozenset(
    {
        # No task leaves two outcomes open at once: the ledger does not begin the second.
        Point.RECONCILE_AFTER_RECORD,
    }
)
MATRIX = tuple(point for point in Point if point.name.split("_", 1)[0] in AREAS and point not in ELSEWHERE)
"""A new point of these areas joins by itself."""
_CANCELS = 10


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    with running_matrix(tmp_path_factory.mktemp("matrix")) as running:
        yield running


def _kill_on_the_way(matrix: Matrix, point: Point) -> None:
    matrix.flow.failpoints.kill(point)
    matrix.deliver()


def _kill_where_a_person_must_decide(matrix: Matrix, point: Point) -> None:
    """The blind effect's answer is lost: nobody can ask, so the job dies as a `reconcile` case."""
    matrix.flow.failpoints.kill(point)
    matrix.deliver(blind=["cut_after"])


def _kill_the_decision(matrix: Matrix, point: Point) -> None:
    job_id = matrix.deliver(blind=["cut_after"])
    matrix.wait_status(job_id, "dead")
    matrix.flow.wait_until(lambda: bool(matrix.flow.cases(job_id)), f"the case of {job_id}")
    matrix.reconcile(job_id, once_asked=lambda: matrix.flow.failpoints.kill(point))


def _kill_a_cancel(matrix: Matrix, point: Point) -> None:
    """Of a job that waits for its next turn; one that has begun it meanwhile gets a flag instead."""
    matrix.flow.failpoints.kill(point)
    for _ in range(_CANCELS):
        job_id = matrix.deliver(keyed=[{"status": 503, "times": 40}])
        matrix.wait_status(job_id, "retry_scheduled")
        matrix.cancel(job_id)
        if matrix.flow.failpoints.fired(point):
            return


def _kill_the_cancel_of_a_running_job(matrix: Matrix, point: Point) -> None:
    """The job stands before an effect; its worker finds the flag when it is let go, or its time is up."""
    failpoints = matrix.flow.failpoints
    matrix.settle_all()
    failpoints.hold(Point.EFFECT_BEFORE_INTENT)
    job_id = matrix.deliver()
    failpoints.wait_held(Point.EFFECT_BEFORE_INTENT)
    failpoints.kill(point)
    matrix.cancel(job_id)
    if not failpoints.fired(point):
        failpoints.release(Point.EFFECT_BEFORE_INTENT)


def _kill_around_a_rest(matrix: Matrix, point: Point) -> None:
    matrix.flow.failpoints.kill(point)
    matrix.deliver(resting=True)


def _kill_around_a_second_telling(matrix: Matrix, point: Point) -> None:
    matrix.flow.failpoints.kill(point)
    matrix.outside.script("POST", "/callbacks/jobs", {"status": 500})
    matrix.deliver()


def _kill_around_a_spent_message(matrix: Matrix, point: Point) -> None:
    """A second message while the first one's job runs is put off: that is the nudge."""
    failpoints = matrix.flow.failpoints
    matrix.settle_all()
    failpoints.hold(Point.EFFECT_BEFORE_INTENT)
    job_id = matrix.deliver()
    failpoints.wait_held(Point.EFFECT_BEFORE_INTENT)
    failpoints.kill(point)
    matrix.flow.repeat_message(job_id)


SCENARIOS: dict[Point, Callable[[Matrix, Point], None]] = {
    Point.WORKER_AFTER_NUDGE: _kill_around_a_spent_message,
    Point.WORKER_BEFORE_DEAD: _kill_where_a_person_must_decide,
    Point.WORKER_AFTER_DEAD: _kill_where_a_person_must_decide,
    Point.WORKER_BEFORE_PUT_OFF: _kill_around_a_rest,
    Point.WORKER_AFTER_PUT_OFF: _kill_around_a_rest,
    Point.WORKER_AFTER_PUT_OFF_NUDGE: _kill_around_a_rest,
    Point.NOTIFY_AFTER_PUT_OFF: _kill_around_a_second_telling,
    Point.NOTIFY_AFTER_NUDGE: _kill_around_a_second_telling,
    **{point: _kill_the_decision for point in MATRIX if point.name.startswith("RECONCILE_")},
    **{point: _kill_a_cancel for point in MATRIX if point.name.startswith("CANCEL_")},
    Point.CANCEL_AFTER_FLAG: _kill_the_cancel_of_a_running_job,
    Point.WORKER_BEFORE_CANCELLED: _kill_the_cancel_of_a_running_job,
    Point.WORKER_AFTER_CANCELLED: _kill_the_cancel_of_a_running_job,
}
"""Points that a job on its usual way does not come to."""


def test_kills_at_every_point_double_and_lose_nothing(
    matrix: Matrix, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, point in enumerate(MATRIX):
        print(f"{number:3d} {point}", flush=True)
        SCENARIOS.get(point, _kill_on_the_way)(matrix, point)
        matrix.wait_fired(point)
    ended = matrix.settle_all()
    doubled, counted = matrix.doubled(), matrix.outside.effects()
    lost = [
        f"{job_id} {action}"
        for job_id, job in ended.items()
        for action in ACTIONS
        if job["status"] == "succeeded"
        and not any(key.startswith(f"{job_id}:{action}") for key in counted[action].by_reference)
    ]
    lost += [
        job_id
        for job_id in ended
        if ended[job_id]["status"] != "succeeded" and job_id not in matrix.cancelled
    ]
    with capsys.disabled():
        print(f"\n{len(MATRIX)} points, {len(doubled)} doubled, {len(lost)} lost")
    assert len(MATRIX) >= 40
    assert (doubled, lost) == ([], [])
    for job_id, job in ended.items():
        matrix.flow.wait_open_index_without(job_id)
        told = [row["event"] for row in job["timeline"]]
        assert told.count(job["status"]) == 1
        if job["status"] == "succeeded":
            assert told.count("effect_done") >= len(ACTIONS)
            assert len(matrix.flow.results(job_id)) == 1
