"""Thousands of jobs through a whole stack while its host is killed again and again, in figures.

Webhooks are delivered as a patient sender does, an operator who tells the truth settles the cases meanwhile,
and the outside's counters are the judge.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from devhost.bench.processes import cpu_seconds, resident_bytes
from devhost.outside import Outside
from devhost.parts import PartError
from devhost.stack import Part
from shared.failpoints import Point
from tests.flows import many_jobs_remains as remains
from tests.flows.driver import FAST, Flow
from tests.flows.many_jobs_operator import Operator
from tests.flows.many_jobs_outcome import SAMPLE_SECONDS, Outcome, Sample
from tests.flows.many_jobs_sender import Sender
from tests.support.one_effect import CONTRACTS, LAG_SECONDS
from tests.support.stacks import flow_stack

KINDS = ("keyed",) * 5 + ("findable",) * 4 + ("blind",)
"""In turn."""
POINTS = (
    Point.INTAKE_BEFORE_STORE,
    Point.INTAKE_AFTER_JOB_ROW,
    Point.INTAKE_AFTER_OPEN_ROW,
    Point.INTAKE_BEFORE_SEND,
    Point.INTAKE_AFTER_SEND,
    Point.WORKER_BEFORE_CLAIM,
    Point.WORKER_AFTER_CLAIM,
    Point.TASK_RUNNING,
    Point.LIMITS_BEFORE_CALL,
    Point.EFFECT_BEFORE_INTENT,
    Point.EFFECT_AFTER_INTENT,
    Point.EFFECT_AFTER_CALL,
    Point.EFFECT_AFTER_RESULT,
    Point.WORKER_BEFORE_RESULT_BLOB,
    Point.WORKER_AFTER_RESULT_BLOB,
    Point.WORKER_AFTER_SUCCESS,
    Point.FINISH_BEFORE_OPEN_ROW,
    Point.WORKER_AFTER_OPEN_ROW_REMOVED,
)
"""Those that a job comes to on its usual way."""
_AT_ONCE = 8
_MOST_WAITING = 200
_LOOK_SECONDS = 0.25
_STALL_SECONDS = 180.0


class Campaign:
    """One run over a stack; every thread stops when `over` is set or something fails."""

    def __init__(
        self, flow: Flow, outside: Outside, *, jobs: int, kills: int, per_second: float, seed: int
    ) -> None:
        self.flow = flow
        self.outside = outside
        self.count = jobs
        self.per_second = per_second
        self.random = random.Random(seed)
        self.kill_at = sorted(self.random.uniform(0.01, 0.97) * jobs for _ in range(kills))
        self.operator = Operator(flow, outside)
        self.outcome = Outcome(settled=self.operator.settled)
        self.over = threading.Event()
        self.failures: list[BaseException] = []
        self.done = 0
        self._begun = self._moved_at = time.monotonic()
        self._numbers: Iterator[int] = iter(range(jobs))
        self._lock = threading.Lock()

    def run(self) -> Outcome:
        outcome = self.outcome
        senders = [self._thread(self._send) for _ in range(_AT_ONCE)]
        killer = self._thread(self._kill)
        others = [self._thread(lambda: self.operator.work(self.over)), self._thread(self._watch)]
        try:
            for thread in (*senders, killer):
                thread.join()
            self._wait_for_the_end()
        finally:
            self.over.set()
            for thread in others:
                thread.join()
        if self.failures:
            raise self.failures[0]
        outcome.seconds = time.monotonic() - self._begun
        outcome.restarts = self.flow.stack.lives(Part.HOST) - 1
        outcome.cpu_of_last_life = cpu_seconds(self.flow.stack.pid(Part.HOST)) or 0.0
        self._judge()
        return outcome

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except BaseException as failure:  # noqa: BLE001  told by `run`
                self.failures.append(failure)
                self.over.set()

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread

    def _send(self) -> None:
        """Deliver events at the rate given, and no more than so many ahead of the work."""
        with closing(Sender(self.flow)) as sender:
            self._send_all(sender)

    def _send_all(self, sender: Sender) -> None:
        while not self.over.is_set():
            with self._lock:
                number = next(self._numbers, None)
            if number is None:
                return
            due = self._begun + number / self.per_second
            while not self.over.is_set() and (time.monotonic() < due or number - self.done > _MOST_WAITING):
                time.sleep(0.02)
            text = f"{KINDS[number % len(KINDS)]} {number}"
            job_id = sender.deliver(text, self.over)
            if job_id is not None:
                self.outcome.jobs[job_id] = text

    def _kill(self) -> None:
        """Each kill when so many jobs got done: half of them at a named point, half at any moment."""
        stack, failpoints = self.flow.stack, self.flow.failpoints
        for due in self.kill_at:
            while self.done < due:
                if self.over.wait(0.05) or time.monotonic() - self._moved_at > _STALL_SECONDS:
                    return
            stack.wait_ready(Part.HOST)
            if self.random.random() < 0.5:
                point = self.random.choice(POINTS)
                life = stack.lives(Part.HOST)
                failpoints.kill(point, hit=self.random.randint(1, 4))
                until = time.monotonic() + 10
                while not failpoints.fired(point) and time.monotonic() < until:
                    if self.over.wait(0.05):
                        break
                if failpoints.fired(point):
                    self._wait_for_life_after(life)
                    self.outcome.kills[point.value] += 1
                    continue
                failpoints.disarm(point)
            if self.over.wait(self.random.random()):
                return
            life = stack.lives(Part.HOST)
            stack.kill(Part.HOST)
            self._wait_for_life_after(life)
            self.outcome.kills["moment"] += 1

    def _wait_for_life_after(self, life: int) -> None:
        while self.flow.stack.lives(Part.HOST) <= life and not self.over.wait(0.02):
            pass

    def _watch(self) -> None:
        stack = self.flow.stack
        while not self.over.wait(SAMPLE_SECONDS):
            calls = self.outside.calls()
            done = sum(count for name, count in calls.items() if name.startswith("POST /effects/"))
            if done != self.done:
                self.done, self._moved_at = done, time.monotonic()
            resident: dict[str, int] = {}
            for part in (Part.HOST, Part.BROKER, Part.AZURITE):
                try:
                    held = resident_bytes(stack.pid(part))
                except PartError:
                    continue
                if held:
                    resident[part.value] = held
            at = time.monotonic() - self._begun
            self.outcome.samples.append(Sample(at, stack.lives(Part.HOST), self.done, resident))

    def _wait_for_the_end(self) -> None:
        """Until nothing is open; no longer than it takes to see that nothing moves any more."""
        last, moved_at = -1, time.monotonic()
        while not self.over.is_set():
            found = remains.open_rows(self.flow)
            if not found and not remains.messages(self.flow) and not remains.open_cases(self.flow):
                return
            if len(found) != last:
                last, moved_at = len(found), time.monotonic()
            if time.monotonic() - moved_at > _STALL_SECONDS:
                return  # what is left is judged
            time.sleep(_LOOK_SECONDS * 4)

    def _judge(self) -> None:
        outcome, counted = self.outcome, self.outside.effects()
        happened: Counter[str] = Counter()
        for kind in CONTRACTS:
            for key, times in counted[kind].by_reference.items():
                happened[key.partition(":")[0]] += times
        outcome.doubled = [job_id for job_id in outcome.jobs if happened[job_id] > 1]
        outcome.lost = [job_id for job_id in outcome.jobs if happened[job_id] == 0]
        outcome.doubled += sorted(set(happened) - set(outcome.jobs))
        states = remains.states(self.flow)
        outcome.unfinished = {
            job_id: states.get(job_id, "not stored")
            for job_id in {*outcome.jobs, *states}
            if states.get(job_id) != "succeeded"
        }
        outcome.open_rows, outcome.messages = remains.open_rows(self.flow), remains.messages(self.flow)


_PIPELINE = """
[sources.github]
scheme = "github"
secrets = ["GITHUB_WEBHOOK_SECRET"]

[[sources.github.routes]]
event = "repository_dispatch.one"
task = "generate_video"
input = "client_payload.text"

[tasks.generate_video]
attempt_timeout = "6s"
submit_timeout = "3s"

[tasks.generate_video.retry]
attempts = 50
backoff = ["500ms"]

[tasks.generate_video.poll]
deadline = "10m"
backoff = ["1s"]
"""


@contextmanager
def running_campaign(
    folder: Path, *, jobs: int, kills: int, per_second: float, seed: int, plugins: Sequence[str] = ()
) -> Iterator[Campaign]:
    """A stack of its own for one campaign."""
    with Outside() as outside:
        outside.configure(find_lag_seconds=LAG_SECONDS / 2)
        pipeline = folder.with_name(f"{folder.name}-pipeline.toml")
        pipeline.write_text(_PIPELINE, encoding="utf-8")
        settings = {**FAST, "SWEEP_SCHEDULE": "*/5 * * * * *", "EFFECTS_URL": outside.effects_url}
        stack = flow_stack(
            folder,
            pipeline=pipeline,
            settings=settings,
            plugins=("tests.support.one_effect", *plugins),
            lock_duration="PT10S",
            storage_in_memory=True,  # only the host is killed
        )
        with stack:
            yield Campaign(Flow(stack), outside, jobs=jobs, kills=kills, per_second=per_second, seed=seed)
