"""Closing a case: kept with who and why, repeatable, and true in the list whatever dies."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from shared.deadletters.close import close
from shared.deadletters.decisions import Decision
from shared.deadletters.handler import DeadLetterHandler
from shared.deadletters.ports import CaseState
from shared.deadletters.refusals import AlreadyDone, CaseNotFound, ChangedMeanwhile, IdempotencyKeyReused
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.errors import Conflict
from shared.failpoints import Point
from shared.jobs import JobState
from shared.ports import Row, RowKind
from shared.services import Services
from shared.sweep import Sweep
from tests.support.cases import dead_job, filed_job
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.protocol.checks import check_settled

DECISION = Decision(operator="ada", reason="Not needed any more.")
KEYED = replace(DECISION, idempotency_key="key-1")


async def test_a_close_is_kept_with_operator_and_reason(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    await close(services, job.job_id, DECISION)
    (case,) = world.cases.all_cases()
    assert (case.state, case.operator, case.reason) == (CaseState.CLOSED, "ada", DECISION.reason)
    (decision,) = await world.jobs.rows(job.job_id, RowKind.DECISION)
    assert (decision.data["action"], decision.data["release"]) == ("close", 0)
    assert world.jobs.job(job.job_id).claim == job.claim + 1
    await check_settled(world, {job.job_id})


async def test_a_closed_job_can_neither_be_closed_nor_resubmitted(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    await close(services, job.job_id, DECISION)
    with pytest.raises(AlreadyDone):
        await close(services, job.job_id, DECISION)
    with pytest.raises(AlreadyDone):
        await resubmit(services, job.job_id, DECISION, Resubmission())


async def test_the_same_key_closes_once_and_another_request_under_it_is_refused(
    world: World, services: Services
) -> None:
    job = await filed_job(services, world)
    await close(services, job.job_id, KEYED)
    await close(services, job.job_id, KEYED)
    with pytest.raises(IdempotencyKeyReused):
        await close(services, job.job_id, replace(KEYED, reason="Another."))
    await check_settled(world, {job.job_id})


async def test_a_repeat_that_read_the_job_before_the_first_request_closed_it_finishes_what_that_left(
    world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it takes the open row away, and the case of the closed job stays listed as open for ever."""
    job = await filed_job(services, world)
    real = services.jobs.rows

    async def rows(job_id: str, kind: RowKind) -> list[Row]:
        monkeypatch.setattr(services.jobs, "rows", real)
        async with killed_at(Point.CLOSE_AFTER_BATCH):
            await close(services, job_id, KEYED)
        return await real(job_id, kind)

    monkeypatch.setattr(services.jobs, "rows", rows)
    await close(services, job.job_id, KEYED)
    assert [case.state for case in world.cases.all_cases()] == [CaseState.CLOSED]
    await check_settled(world, {job.job_id})


async def test_what_is_not_there_is_refused(world: World, services: Services) -> None:
    with pytest.raises(CaseNotFound):
        await close(services, "job_" + "a" * 26, DECISION)
    with pytest.raises(CaseNotFound):
        await close(services, "msg_1", DECISION)


async def test_a_case_that_is_still_being_filed_is_filed_and_closed(world: World, services: Services) -> None:
    job = await dead_job(world)
    await close(services, job.job_id, DECISION)
    await check_settled(world, {job.job_id})


async def test_a_close_that_lost_the_race_to_a_resubmit_hides_nothing(
    world: World, services: Services
) -> None:
    job = await filed_job(services, world)

    async def first() -> None:
        await resubmit(services, job.job_id, replace(DECISION, operator="grace"), Resubmission())

    world.jobs.before("commit", first)
    with pytest.raises(ChangedMeanwhile):
        await close(services, job.job_id, DECISION)
    assert world.open.keys() == {(job.job_id, 1)}
    assert world.jobs.job(job.job_id).state is JobState.QUEUED


async def test_a_commit_that_was_repeated_after_its_lost_answer_counts_as_done(
    world: World, services: Services
) -> None:
    job = await filed_job(services, world)
    world.jobs.fail_next("commit", Conflict(), after=True)
    await close(services, job.job_id, DECISION)
    await check_settled(world, {job.job_id})


async def test_a_close_that_died_is_brought_to_the_list_by_the_sweep(
    world: World, services: Services
) -> None:
    job = await filed_job(services, world)
    async with killed_at(Point.CLOSE_AFTER_BATCH):
        await close(services, job.job_id, DECISION)
    assert world.cases.all_cases()[0].state is CaseState.OPEN
    world.clock.advance(61)
    await Sweep(services).run()
    await check_settled(world, {job.job_id})
    assert world.cases.all_cases()[0].operator == "ada"


async def test_a_close_whose_guard_was_taken_for_an_orphans_before_its_batch_is_found_all_the_same(
    world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await filed_job(services, world)
    real = services.jobs.commit

    async def commit(*arguments: Any) -> Any:
        await services.open_index.remove(job.job_id, job.release + 1)
        return await real(*arguments)

    monkeypatch.setattr(services.jobs, "commit", commit)
    async with killed_at(Point.CLOSE_AFTER_BATCH):
        await close(services, job.job_id, DECISION)
    world.clock.advance(61)
    await Sweep(services).run()
    assert [case.state for case in world.cases.all_cases()] == [CaseState.CLOSED]
    await check_settled(world, {job.job_id})


async def test_an_unreadable_message_is_closed_once(world: World, services: Services) -> None:
    await DeadLetterHandler(services).handle(b"nonsense", {}, 3)
    await close(services, "msg_3", KEYED)
    await close(services, "msg_3", KEYED)
    with pytest.raises(AlreadyDone):
        await close(services, "msg_3", DECISION)
    (case,) = world.cases.all_cases()
    assert (case.state, case.operator) == (CaseState.CLOSED, "ada")


async def test_two_closes_at_once_under_one_key_are_told_apart(world: World, services: Services) -> None:
    job = await filed_job(services, world)
    other = replace(KEYED, reason="Something else.")
    done = await asyncio.gather(
        close(services, job.job_id, KEYED), close(services, job.job_id, other), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in done) == ["IdempotencyKeyReused", "NoneType"]


async def test_of_two_closes_of_a_message_at_once_the_one_that_is_not_kept_is_told_so(
    world: World, services: Services
) -> None:
    await DeadLetterHandler(services).handle(b"nonsense", {}, 3)
    other = replace(KEYED, reason="Something else.")
    done = await asyncio.gather(
        close(services, "msg_3", KEYED), close(services, "msg_3", other), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in done) == ["AlreadyDone", "NoneType"]
    (case,) = world.cases.all_cases()
    assert case.reason == (KEYED if done[0] is None else other).reason
