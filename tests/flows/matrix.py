"""Jobs with three effects on a whole stack, and an operator who tells the truth: the outside's counters."""

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

from devhost.faults.failpoints import FailpointTimeoutError
from devhost.outside import Outside
from shared.effects.records import effect_key
from shared.failpoints import Point
from tests.flows.driver import FAST, Flow, event_id
from tests.support.stacks import flow_stack
from tests.support.three_effects import FRAGILE, LAG_SECONDS

PATIENCE_SECONDS = 60.0
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
