"""A host is frozen in the middle of its work, another takes its jobs over, and then the first goes on.

Two hosts over the same storage and broker. The one that wakes up overwrites nothing and doubles nothing; what
it alone knows is kept beside the record.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from azure.data.tables import TableServiceClient

from devhost.outside import Outside
from devhost.stack import Part, Stack, StackOptions
from shared.adapters.table_rows import JOB_KEY, job_entity, read_job
from shared.failpoints import Point
from tests.flows.driver import FAST, Flow, event_id
from tests.support import host_worker
from tests.support.outside_calls import count_of
from tests.support.stacks import flow_stack
from tests.support.three_effects import LAG_SECONDS

pytestmark = [pytest.mark.flows, pytest.mark.kills]

PLUGIN = "tests.support.effects_beside"


@dataclass(frozen=True, slots=True)
class Zombie:
    """A job's one effect, where it stands when its host is frozen, and how the job ends with the other."""

    kind: str
    where: str
    ends: str
    effects: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.where}"


IN_THE_CALL = "in the call"
"""The outside has carried it out and keeps the answer back."""
ZOMBIES = (
    Zombie("blind", Point.WORKER_BEFORE_RESULT_BLOB, "succeeded", 1),
    Zombie("blind", Point.WORKER_AFTER_RESULT_BLOB, "succeeded", 1),
    Zombie("blind", Point.WORKER_AFTER_SUCCESS, "succeeded", 1),
    Zombie("blind", Point.EFFECT_BEFORE_INTENT, "succeeded", 1),
    Zombie("blind", Point.EFFECT_AFTER_INTENT, "reconcile", 0),
    Zombie("blind", Point.EFFECT_AFTER_RESULT, "succeeded", 1),
    Zombie("keyed", IN_THE_CALL, "succeeded", 1),
    Zombie("findable", IN_THE_CALL, "succeeded", 1),
    Zombie("blind", IN_THE_CALL, "reconcile", 1),
)


@dataclass(slots=True)
class Graveyard:
    """The stack with the first host, the second host once it is there, and the outside."""

    first: Flow
    outside: Outside
    folder: Path
    settings: dict[str, str]
    pipeline: Path
    jobs: dict[str, Zombie] = field(default_factory=dict)

    def second(self) -> Stack:
        """Another host over the same storage and broker; not yet started."""
        stack = self.first.stack
        connections = {"AzureWebJobsStorage": stack.storage, "ServiceBusConnection": stack.servicebus}
        made = Stack(
            StackOptions(
                state=self.folder,
                parts=frozenset({Part.HOST}),
                pipeline=self.pipeline,
                extra_settings={**self.settings, **connections},
                plugins=(PLUGIN,),
                worker_python=host_worker.python_for(None),
            )
        )
        made.storage = stack.storage
        return made

    def bury(self, zombie: Zombie, action: str) -> str:
        """Bring a job to where it stands."""
        marker = f"z{len(self.jobs):03d}x"
        in_the_call = zombie.where == IN_THE_CALL
        if in_the_call:
            hold = {"hold": marker, "after": True}
            self.outside.script("POST", f"/effects/{zombie.kind}", hold, match=f'"{marker}"')
        else:
            self.first.failpoints.hold(zombie.where)
        payload = {"text": f"{zombie.kind} {marker}"}
        job_id = self.first.deliver_until_accepted(event_id(), payload, action=action)
        self.jobs[job_id] = zombie
        if in_the_call:
            self.outside.wait_held(marker)
        else:
            self.first.failpoints.wait_held(zombie.where)
        return job_id

    def let_go(self) -> None:
        """The first host goes on, as if nothing had been, and ends in order once it has nothing to do."""
        self.first.stack.thaw(Part.HOST)
        self.first.failpoints.clear()
        for name in self._held():
            self.outside.release(name)
        self.first.stack.end(Part.HOST)

    def _held(self) -> list[str]:
        return [f"z{number:03d}x" for number in range(len(self.jobs))]

    def happened(self, job_id: str) -> int:
        return count_of(job_id, self.outside.effects()[self.jobs[job_id].kind].by_reference)

    def lease_is_over(self, job_id: str) -> None:
        """As if the machine had been suspended: its own clock stood still, that of storage went on."""
        with TableServiceClient.from_connection_string(self.first.stack.storage) as service:
            table = service.get_table_client("jobs")
            job = read_job(table.get_entity(job_id, JOB_KEY))
            assert job.lease is not None
            table.upsert_entity(job_entity(replace(job, lease=replace(job.lease, until=datetime.now(UTC)))))


@pytest.fixture
def graveyard(tmp_path: Path) -> Iterator[Graveyard]:
    pipeline = tmp_path / "pipeline.toml"
    pipeline.write_text(_PIPELINE, encoding="utf-8")
    with Outside() as outside:
        outside.configure(find_lag_seconds=LAG_SECONDS / 2)
        settings = {**FAST, "EFFECTS_URL": outside.effects_url}
        with flow_stack(tmp_path / "first", pipeline=pipeline, settings=settings, plugins=(PLUGIN,)) as stack:
            yield Graveyard(Flow(stack), outside, tmp_path / "second", settings, pipeline)


def _seen(flow: Flow, job_id: str) -> dict[str, Any]:
    """All that can be seen of the job, but for when its announcement and its case were seen to."""
    found: dict[str, Any] = flow.get(f"jobs/{job_id}").document
    return found


def test_a_host_frozen_past_its_leases_overwrites_and_doubles_nothing_when_it_wakes(
    graveyard: Graveyard,
) -> None:
    for zombie in ZOMBIES:
        graveyard.bury(zombie, "short")
    graveyard.first.stack.freeze(Part.HOST)
    with graveyard.second() as stack:
        other = Flow(stack)
        for job_id, zombie in graveyard.jobs.items():
            wanted = "succeeded" if zombie.ends == "succeeded" else "dead"
            other.wait_for(f"jobs/{job_id}", status=wanted)
            if wanted == "dead":
                other.wait_until(lambda job_id=job_id: bool(other.cases(job_id)), "the case is filed")  # type: ignore[misc]
            other.wait_open_index_without(job_id)
        before = {job_id: _seen(other, job_id) for job_id in graveyard.jobs}
        graveyard.let_go()
        for job_id, zombie in graveyard.jobs.items():
            after = _seen(other, job_id)
            assert after == before[job_id], zombie
            assert graveyard.happened(job_id) == zombie.effects, zombie
            ends = after["failure"]["category"] if after["status"] == "dead" else after["status"]
            assert ends == zombie.ends, zombie
            assert len(other.results(job_id)) == (zombie.ends == "succeeded")
            assert other.open_rows(job_id) == []


def test_what_a_host_knows_that_lost_its_claim_is_kept_and_spares_a_person_the_question(
    graveyard: Graveyard,
) -> None:
    point = Point.EFFECT_AFTER_CALL
    job_id = graveyard.bury(Zombie("blind", point, "reconcile", 1), "long")
    graveyard.first.stack.freeze(Part.HOST)
    graveyard.lease_is_over(job_id)
    with graveyard.second() as stack:
        other = Flow(stack)
        other.wait_for(f"jobs/{job_id}", status="dead")
        other.wait_until(lambda: bool(other.cases(job_id)), "the case is filed")
        assert other.decide(job_id, "resubmit", event_id()).document["code"] == "outcome_unknown"
        before = _seen(other, job_id)
        graveyard.let_go()
        assert _seen(other, job_id) == before
        intended, late = other.get(f"dead-letters/{job_id}").document["effects"]
        assert (intended["state"], "late" in intended) == ("intended", False)
        assert (late["state"], late["late"]) == ("done", True)
        assert late["external_id"].startswith("blind_")
        other.decide_until_accepted(job_id, "resubmit", event_id())
        other.wait_for(f"jobs/{job_id}", status="succeeded")
        assert graveyard.happened(job_id) == 1
        result = other.get(f"jobs/{job_id}/result").document
        assert result == {"id": late["external_id"]}


_PIPELINE = """
[sources.github]
scheme = "github"
secrets = ["GITHUB_WEBHOOK_SECRET"]

[[sources.github.routes]]
event = "repository_dispatch.short"
task = "generate_video"
input = "client_payload.text"

[[sources.github.routes]]
event = "repository_dispatch.long"
task = "summarize_document"
input = "client_payload.text"

[tasks.generate_video]
attempt_timeout = "9s"
submit_timeout = "3s"

[tasks.generate_video.retry]
attempts = 9
backoff = ["1s"]

[tasks.generate_video.poll]
backoff = ["1s"]

[tasks.summarize_document]
attempt_timeout = "90s"
"""
