"""A task with three effects is killed at every named point of worker, ledger, limits, waits and notification.

The jobs are alive at the same time, so each kill also meets others wherever they happen to be. Afterwards
an operator who tells the truth settles what nobody else can know, and the outside's own counters are the
judge: nothing happened twice, nothing is missing.
"""

import base64
import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from devhost.faults.failpoints import FailpointTimeoutError
from devhost.outside import Outside
from shared.effects.records import effect_key
from shared.failpoints import Point
from tests.flows.driver import FAST, Flow, event_id
from tests.support.stacks import flow_stack
from tests.support.three_effects import FRAGILE, LAG_SECONDS

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
PATIENCE_SECONDS = 60.0
_CANCELS = 10
ACTIONS = ("keyed", "findable", "blind")


@dataclass(slots=True)
class Matrix:
    """The stack, the outside, and the jobs so far by id: each with the marker of its event."""

    flow: Flow
    outside: Outside
    jobs: dict[str, str] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def deliver(self, *, resting: bool = False, **scripts: list[Any]) -> str:
        """A job whose calls meet the usual faults, besides those given by path.

        With `resting` its first call makes a provider rest, and every job waits for that one.
        """
        marker = f"m{next(self.numbers):03d}"
        steps: dict[str, list[Any]] = {
            "keyed": [{"status": 503}, "cut_after"],
            "findable": ["cut_after"],
            "blind": [{"status": 429}],
            **scripts,
        }
        for kind, faults in steps.items():
            if faults:
                self.outside.script("POST", f"/effects/{kind}", *faults, match=f'"{marker}"')
        if resting:
            self.outside.script("GET", "/effects/findable", {"status": 503}, match=f"{FRAGILE}-{marker}")
        self.outside.script("GET", "/effects/findable", {"status": 404}, match=f"shaky-{marker}")
        job_id = self.flow.deliver_until_accepted(event_id(), {"text": marker}, action="effects")
        self.jobs[job_id] = marker
        return job_id

    def wait_fired(self, point: Point) -> None:
        """Wait for the kill; if it does not come, tell where the jobs are."""
        try:
            self.flow.failpoints.wait_fired(point, PATIENCE_SECONDS)
        except FailpointTimeoutError as late:
            where = {job_id: self.job(job_id) for job_id in self.jobs}
            raise AssertionError(f"{late}; the jobs: {json.dumps(where)}") from None

    def job(self, job_id: str) -> Any:
        return self.flow.get(f"jobs/{job_id}").document or {}

    def wait_status(self, job_id: str, *wanted: str) -> Any:
        until = time.monotonic() + PATIENCE_SECONDS
        while (job := self.job(job_id)).get("status") not in wanted:
            assert time.monotonic() < until, f"{job_id} has not become {wanted}: {job}"
            time.sleep(0.05)
        return job

    def reconcile(self, job_id: str, *, once_asked: Callable[[], None] | None = None) -> None:
        """Look at the outside's counters and say what happened, of every effect that is open."""
        for effect in self.flow.wait_for(f"dead-letters/{job_id}")["effects"]:
            if effect["state"] != "intended":
                continue
            kind = "keyed" if effect["action"] == "shaky" else effect["action"]
            happened = self.outside.effects()[kind].by_reference.get(effect["key"], 0)
            word = {"outcome": "done", "external_id": "seen"} if happened else {"outcome": "not_done"}
            key = f"{job_id}-{effect['generation']}-{effect['action']}"
            if once_asked is not None:
                once_asked()
            self.flow.decide_until_accepted(job_id, "reconcile", key, effect=effect["action"], **word)

    def cancel(self, job_id: str) -> None:
        """Ask until it is answered, as somebody who wants it."""
        body = json.dumps({"operator": "on-call", "reason": "not needed"}).encode()
        headers = {"x-functions-key": self.flow.stack.operator_key, "Content-Type": "application/json"}
        until = time.monotonic() + PATIENCE_SECONDS
        while (reply := self.flow.call("POST", f"/api/jobs/{job_id}/cancel", body, headers)).status not in (
            200,
            202,
        ):
            assert time.monotonic() < until, reply
            time.sleep(0.1)
        self.cancelled.add(job_id)

    def settle_all(self) -> dict[str, Any]:
        """Every job so far, at its end."""
        return {job_id: self.settle(job_id) for job_id in self.jobs}

    def settle(self, job_id: str) -> Any:
        """Bring the job to its end, as an operator who tells the truth."""
        job: Any = None
        for _ in range(10):
            job = self.wait_status(job_id, "succeeded", "cancelled", "dead")
            if job["status"] != "dead":
                return job
            self.flow.wait_until(lambda: bool(self.flow.cases(job_id)), f"the case of {job_id}")
            if job["failure"]["category"] == "reconcile":
                self.reconcile(job_id)
            else:
                self.flow.decide_until_accepted(job_id, "resubmit", f"{job_id}-{job['release']}")
            self.flow.wait_until(
                lambda known=job: self.job(job_id).get("release", 0) > known["release"],  # type: ignore[misc]
                f"the next release of {job_id}",
            )
        raise AssertionError(f"{job_id} never ends: {json.dumps(job)}")

    def happened(self, job_id: str, action: str) -> list[str]:
        """The keys under which the outside did this for the job."""
        first = effect_key(job_id, action, 0)
        by_key = self.outside.effects()[action].by_reference
        return [key for key in by_key if key == first or key.startswith(f"{first}:")]

    def doubled(self) -> list[str]:
        """Keys under which something happened more than once, and jobs that did something twice."""
        counted = self.outside.effects()
        twice = [key for kind in ACTIONS for key, n in counted[kind].by_reference.items() if n > 1]
        for job_id in self.jobs:
            for action in ACTIONS:
                first = effect_key(job_id, action, 0)
                keys = [
                    key for key in counted[action].by_reference if key == first or key.startswith(f"{first}:")
                ]
                twice += keys[1:]
        # Each release of a job has one end, and whoever tells it again tells it under the same id.
        told = Counter(name.rpartition("-")[0] for name in counted["callback"].by_key)
        return twice + [release for release, ends in told.items() if ends > 1]


@contextmanager
def running_matrix(folder: Path, *, proxied: bool = False) -> Iterator[Matrix]:
    with Outside() as outside:
        outside.configure(find_lag_seconds=LAG_SECONDS / 2)
        pipeline = folder.with_name(f"{folder.name}-pipeline.toml")
        pipeline.write_text(_PIPELINE.replace("{host}", urlsplit(outside.url).netloc), encoding="utf-8")
        settings = {
            **FAST,
            "EFFECTS_URL": outside.effects_url,
            "AFTERHOOK_PRIVATE_HOSTS": urlsplit(outside.url).netloc,
            "NOTIFY_SECRET": "whsec_" + base64.b64encode(b"an invented secret of 32 bytes!!").decode(),
        }
        stack = flow_stack(
            folder,
            pipeline=pipeline,
            settings=settings,
            proxied=proxied,
            plugins=("tests.support.three_effects",),
        )
        with stack:
            yield Matrix(Flow(stack), outside)


_PIPELINE = """
[sources.github]
scheme = "github"
secrets = ["GITHUB_WEBHOOK_SECRET"]

[sources.github.notify]
url = "http://{host}/callbacks/jobs"
secret = "NOTIFY_SECRET"

[sources.github.limits]
concurrent = 100
per_minute = 100000

[[sources.github.routes]]
event = "repository_dispatch.effects"
task = "generate_video"
input = "client_payload.text"

[outbound]
allowed_hosts = ["{host}"]

[providers.openai]
failures = 1
rest = { base = "2s", factor = 1, cap = "2s" }

[providers.videos]
failures = 1000

[tasks.generate_video]
attempt_timeout = "6s"
submit_timeout = "2s"

[tasks.generate_video.budget]
day_tokens = 1000000

[tasks.generate_video.retry]
attempts = 50
backoff = ["200ms"]

[tasks.generate_video.poll]
deadline = "10m"
backoff = ["300ms"]
"""


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
