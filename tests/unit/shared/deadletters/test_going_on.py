"""From an answer that never came, over a person's word, to the end: what the provider really did."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import ClassVar

import pytest

from shared.calls.failures import FailureKind
from shared.cancel import Cancellation, Cancelling, cancel
from shared.deadletters.decisions import Decision
from shared.deadletters.handler import DeadLetterHandler
from shared.deadletters.reconcile import Outcome, Reconciliation, reconcile
from shared.deadletters.refusals import CallUnderWay, NoOpenEffect, OutcomeUnknown
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.effects.contract import Done
from shared.errors import DeadLettered
from shared.failpoints import Point
from shared.jobs import Category, Job, JobState
from shared.messages import JobMessage
from shared.services import Services
from shared.tasks.base import TaskContext, TaskInput, TaskResult
from shared.worker.run import Worker
from tests.support.application import TASK, build_services, new_job, store
from tests.support.cases import snapshot_of
from tests.support.effects import effect_of
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.outside import BLIND, CountingProvider

DECISION = Decision(operator="ada", reason="Looked at the provider's list.")


class OneEffect:
    """A task whose result is the id of what it had done once."""

    name: ClassVar[str] = TASK
    max_input_bytes: ClassVar[int] = 1024 * 1024

    def __init__(self, provider: CountingProvider) -> None:
        self._provider = provider

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult:
        done = await context.effects.perform(BLIND, {"input": task_input.ref}, self._provider)
        return TaskResult(content=done.external_id.encode(), content_type="text/plain")


@pytest.fixture
def provider() -> CountingProvider:
    return CountingProvider(BLIND.provider)


@pytest.fixture
def services(world: World, provider: CountingProvider) -> Services:
    return build_services(world, OneEffect(provider))


async def run(services: Services, message: JobMessage) -> None:
    await Worker(services).handle(message.body(), message.properties(), None)


async def unknown_outcome(world: World, services: Services, provider: CountingProvider, step: object) -> Job:
    """A job whose call ended as `step`, buried and filed as the platform has it done."""
    provider.script = [step]
    job = await store(world, new_job(world))
    message = JobMessage.for_job(job)
    with pytest.raises(DeadLettered):
        await run(services, message)
    await DeadLetterHandler(services).handle(message.body(), message.properties(), 1)
    dead = world.jobs.job(job.job_id)
    assert dead.failure is not None
    assert (dead.failure.category, dead.open_effects) == (Category.RECONCILE, ("blind",))
    assert world.open.keys() == set()
    return dead


async def result(world: World, services: Services, job: Job) -> bytes | None:
    """What the job has after the message of its next release."""
    (sent,) = world.bus.take_due()
    await run(services, sent.message)
    done = world.jobs.job(job.job_id)
    assert (done.state, done.release) == (JobState.SUCCEEDED, 1)
    assert done.result is not None
    assert world.open.keys() == set()
    return world.blobs.content(done.result.ref)


async def test_what_was_done_is_not_done_again(
    world: World, services: Services, provider: CountingProvider
) -> None:
    job = await unknown_outcome(world, services, provider, "cut_after")
    with pytest.raises(OutcomeUnknown):
        await resubmit(services, job.job_id, DECISION, Resubmission())
    word = Reconciliation(effect="blind", outcome=Outcome.DONE, external_id="blind_1")
    await reconcile(services, job.job_id, DECISION, word)
    assert await result(world, services, job) == b"blind_1"
    assert (provider.calls, provider.total) == (1, 1)


async def test_what_was_not_done_is_done_once_under_a_key_of_its_own(
    world: World, services: Services, provider: CountingProvider
) -> None:
    job = await unknown_outcome(world, services, provider, FailureKind.UNCLEAR)
    not_done = Reconciliation(effect="blind", outcome=Outcome.NOT_DONE)
    with pytest.raises(CallUnderWay):
        await reconcile(services, job.job_id, DECISION, not_done)
    world.clock.advance(timedelta(minutes=1))
    await reconcile(services, job.job_id, DECISION, not_done)
    assert await result(world, services, job) == b"blind_1"
    assert provider.executed == {f"{job.job_id}:blind:g1": 1}
    assert (await effect_of(world, job, "blind")).generation == 1


async def test_a_worker_killed_after_its_call_leaves_the_question_to_a_person(
    world: World, services: Services, provider: CountingProvider
) -> None:
    job = await store(world, new_job(world))
    message = JobMessage.for_job(job)
    async with killed_at(Point.EFFECT_AFTER_CALL):
        await run(services, message)
    world.clock.advance(200)
    await DeadLetterHandler(services).handle(message.body(), message.properties(), 1)
    assert world.cases.all_cases()[0].category is Category.RECONCILE
    word = Reconciliation(effect="blind", outcome=Outcome.DONE, external_id="blind_1")
    await reconcile(services, job.job_id, DECISION, word)
    assert await result(world, services, job) == b"blind_1"
    assert provider.total == 1


class SlowProvider(CountingProvider):
    """Before it answers, `meanwhile` happens: the worker that asked is given up, and lives on."""

    meanwhile: Callable[[], Awaitable[None]]

    async def send(self, key: str) -> Done:
        done = await super().send(key)
        await self.meanwhile()
        return done


async def given_up(world: World, provider: SlowProvider) -> tuple[Services, Job]:
    """A job whose worker was slow, so that its message was given up meanwhile, and then saw the answer."""
    services = build_services(world, OneEffect(provider))
    job = await store(world, new_job(world))
    message = JobMessage.for_job(job)

    async def bury() -> None:
        world.clock.advance(200)
        await DeadLetterHandler(services).handle(message.body(), message.properties(), 1)

    provider.meanwhile = bury
    await run(services, message)
    assert world.jobs.job(job.job_id).open_effects == ("blind",)
    return services, job


async def test_what_a_zombie_saw_counts_without_a_person_s_word(world: World) -> None:
    provider = SlowProvider(BLIND.provider)
    services, job = await given_up(world, provider)
    with pytest.raises(NoOpenEffect):
        await reconcile(
            services, job.job_id, DECISION, Reconciliation(effect="blind", outcome=Outcome.NOT_DONE)
        )
    await resubmit(services, job.job_id, DECISION, Resubmission())
    assert await result(world, services, job) == b"blind_1"
    assert (provider.calls, provider.total) == (1, 1)


async def test_a_zombie_s_answer_does_not_overwrite_a_person_s_word(world: World) -> None:
    provider = SlowProvider(BLIND.provider)
    services = build_services(world, OneEffect(provider))
    job = await store(world, new_job(world))
    message = JobMessage.for_job(job)
    word = Reconciliation(effect="blind", outcome=Outcome.DONE, external_id="found-by-ada")

    async def bury_and_decide() -> None:
        world.clock.advance(200)
        await DeadLetterHandler(services).handle(message.body(), message.properties(), 1)
        await reconcile(services, job.job_id, DECISION, word)

    provider.meanwhile = bury_and_decide
    await run(services, message)
    assert (await effect_of(world, job, "blind")).external_id == "found-by-ada"
    assert await result(world, services, job) == b"found-by-ada"
    assert provider.total == 1


async def test_a_cancel_before_the_effect_keeps_it_from_happening(
    world: World, services: Services, provider: CountingProvider
) -> None:
    job = await store(world, new_job(world))
    async with killed_at(Point.EFFECT_BEFORE_INTENT):
        await run(services, JobMessage.for_job(job))
    snapshot = await snapshot_of(world, job.job_id)
    assert await cancel(services, snapshot, Cancellation(reason="Too late.")) is Cancelling.REQUESTED
    world.clock.advance(200)
    await run(services, JobMessage.for_job(job))
    assert world.jobs.job(job.job_id).state is JobState.CANCELLED
    assert (provider.calls, world.open.keys()) == (0, set())


async def test_a_cancel_after_the_call_waits_for_its_outcome(
    world: World, services: Services, provider: CountingProvider
) -> None:
    job = await store(world, new_job(world))
    message = JobMessage.for_job(job)
    async with killed_at(Point.EFFECT_AFTER_CALL):
        await run(services, message)
    await cancel(services, await snapshot_of(world, job.job_id), Cancellation(reason="Too late."))
    world.clock.advance(200)
    with pytest.raises(DeadLettered):
        await run(services, message)
    await DeadLetterHandler(services).handle(message.body(), message.properties(), 1)
    word = Reconciliation(effect="blind", outcome=Outcome.DONE, external_id="blind_1")
    await reconcile(services, job.job_id, DECISION, word)
    (sent,) = world.bus.take_due()
    await run(services, sent.message)
    assert world.jobs.job(job.job_id).state is JobState.CANCELLED
    assert (provider.total, (await effect_of(world, job, "blind")).external_id) == (1, "blind_1")
