"""What a webhook and a job cost in round trips: each is there for a guarantee, and no other is."""

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from shared.effects.contract import Done, EffectContract
from shared.intake import Intake
from shared.pipeline import Pipeline
from shared.pipeline.policies import Publish
from shared.tasks.base import TaskContext, TaskInput, TaskResult
from shared.worker.run import Worker
from tests.support.application import SOURCE, TASK, build_intake, build_services, note, webhook
from tests.support.fakes import World
from tests.support.notify import telling_pipeline
from tests.support.outside import BLIND

LISTS = ("open", "retention", "reviews", "cases", "groups")
STORES = ("jobs", *LISTS, "blobs", "bus", "breakers", "budgets", "slots")
CLAIM, INTENT, RESULT, SUCCESS = ("jobs.commit",) * 4


class Known:
    """A call that gives an answer at once."""

    async def send(self, key: str) -> Done:
        return Done(external_id=key)

    async def look_up(self, key: str) -> Done | None:
        raise AssertionError(f"nobody has to ask for {key}")


class Acts:
    """A task with so many effects."""

    name: ClassVar[str] = TASK
    max_input_bytes: ClassVar[int] = 1024

    def __init__(self, *contracts: EffectContract) -> None:
        self._contracts = contracts

    async def run(self, _input: TaskInput, context: TaskContext) -> TaskResult:
        for contract in self._contracts:
            await context.effects.perform(contract, {}, Known())
        return TaskResult(b"done", "text/plain")


def round_trips(world: World) -> list[str]:
    """Those since the last time, in the order of each store."""
    found: list[str] = []
    for name in STORES:
        store: Any = getattr(world, name)
        found += [f"{name}.{call}" for call in store.calls]
        store.calls.clear()
    return found


def intake_of(world: World, task: Any = None, policies: Pipeline | None = None) -> tuple[Intake, Worker]:
    services = build_services(world, task, pipeline=policies)
    return build_intake(services), Worker(services)


async def test_a_webhook_costs_its_job_its_open_row_and_its_message(world: World) -> None:
    intake, _ = intake_of(world)
    await intake.receive(SOURCE, webhook(world, note()))
    assert round_trips(world) == ["jobs.insert", "open.put", "bus.send"]


async def test_a_copy_of_it_while_the_job_waits_costs_one_question_more(world: World) -> None:
    intake, _ = intake_of(world)
    await intake.receive(SOURCE, webhook(world, note()))
    round_trips(world)
    await intake.receive(SOURCE, webhook(world, note()))
    assert round_trips(world) == ["jobs.insert", "jobs.load", "open.put", "bus.send"]


@pytest.mark.parametrize(
    ("contracts", "commits", "limits"),
    [((), [CLAIM, SUCCESS], []), ((BLIND,), [CLAIM, INTENT, RESULT, SUCCESS], ["breakers.load"])],
    ids=["without", "with"],
)
async def test_a_job_costs_two_reads_and_three_writes_besides_its_commits(
    contracts: tuple[EffectContract, ...], commits: list[str], limits: list[str], world: World
) -> None:
    """Read are the job and its input; written its result, when that is to go, and that nothing is open."""
    intake, worker = intake_of(world, Acts(*contracts))
    await intake.receive(SOURCE, webhook(world, note()))
    round_trips(world)
    (sent,) = world.bus.take_due()
    await worker.handle(sent.body, sent.properties, sent.message_id)
    assert sorted(round_trips(world)) == sorted(
        ["jobs.load", "jobs.row", *commits, "blobs.put_if_absent", "retention.put", "open.remove", *limits]
    )


def reviewed() -> Pipeline:
    """Where results wait for a review and a receiver would be told."""
    policies = telling_pipeline()
    task = replace(policies.tasks[TASK], publish=Publish.AFTER_REVIEW)
    return replace(policies, tasks={TASK: task})


@pytest.mark.parametrize(
    ("policies", "more"),
    [
        (
            telling_pipeline(),
            ["jobs.row", "jobs.replace_row", "jobs.add_row", "jobs.add_row", "retention.put"],
        ),
        (reviewed(), ["jobs.row", "reviews.put", "jobs.load"]),
    ],
    ids=["told", "reviewed"],
)
async def test_what_an_end_owes_costs_so_much_more(policies: Pipeline, more: list[str], world: World) -> None:
    intake, worker = intake_of(world, Acts(), policies)
    await intake.receive(SOURCE, webhook(world, note()))
    round_trips(world)
    (sent,) = world.bus.take_due()
    await worker.handle(sent.body, sent.properties, sent.message_id)
    usual = ["jobs.load", "jobs.row", CLAIM, SUCCESS, "blobs.put_if_absent", "open.remove"]
    assert sorted(round_trips(world)) == sorted(usual + more)
