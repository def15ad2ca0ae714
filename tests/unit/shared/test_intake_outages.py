"""Outages, lost answers, kills and calls that hang: nothing is acknowledged before it is sure."""

import asyncio

import pytest

from shared.errors import QueueUnavailable, StorageUnavailable
from shared.failpoints import Point
from shared.intake import Accepted, Intake
from shared.webhooks.standard import Standard
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.unit.shared.one_event import JOB_ID, receive


async def test_a_first_send_that_failed_is_made_good_by_the_second_delivery(
    world: World, intake: Intake
) -> None:
    world.bus.fail_next("send")
    with pytest.raises(QueueUnavailable):
        await receive(intake, world)
    assert await receive(intake, world) == Accepted(JOB_ID, duplicate=True)
    assert len(world.bus.accepted()) == 1


async def test_a_duplicate_that_cannot_send_is_not_acknowledged(world: World, intake: Intake) -> None:
    world.bus.down = True
    for _ in range(2):
        with pytest.raises(QueueUnavailable):
            await receive(intake, world)


@pytest.mark.parametrize("call", ["jobs.insert", "open.put", "jobs.load"])
@pytest.mark.parametrize("after", [False, True])
async def test_nothing_is_acknowledged_while_a_write_is_not_confirmed(
    world: World, intake: Intake, call: str, after: bool
) -> None:
    if call == "jobs.load":
        await receive(intake, world)
    fake, method = call.split(".")
    getattr(world, fake).fail_next(method, after=after)
    with pytest.raises(StorageUnavailable):
        await receive(intake, world)
    assert (await receive(intake, world)).job_id == JOB_ID
    assert len(world.bus.accepted()) == 1
    assert world.open.keys() == {(JOB_ID, 0)}


@pytest.mark.parametrize(
    "point",
    [
        Point.INTAKE_BEFORE_STORE,
        Point.INTAKE_BEFORE_JOB_ROW,
        Point.INTAKE_AFTER_JOB_ROW,
        Point.INTAKE_BEFORE_OPEN_ROW,
        Point.INTAKE_AFTER_OPEN_ROW,
        Point.INTAKE_BEFORE_SEND,
        Point.INTAKE_AFTER_SEND,
    ],
)
async def test_a_kill_before_the_answer_is_made_good_by_the_next_delivery(
    world: World, intake: Intake, point: Point
) -> None:
    async with killed_at(point):
        await receive(intake, world)
    assert (await receive(intake, world)).job_id == JOB_ID
    assert len(world.jobs.all_jobs()) == 1
    assert len(world.bus.accepted()) == 1
    assert world.open.keys() == {(JOB_ID, 0)}


async def _hang() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("call", "error"),
    [("jobs.insert", StorageUnavailable), ("open.put", StorageUnavailable), ("bus.send", QueueUnavailable)],
)
async def test_what_hangs_is_given_up_and_not_acknowledged(
    world: World, intake: Intake, call: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Standard, "answer_within", 1.0)  # what does not hang takes far less
    fake, method = call.split(".")
    getattr(world, fake).before(method, _hang)
    with pytest.raises(error):
        await receive(intake, world)
