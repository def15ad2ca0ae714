"""What a caller is told whose time is over, and how much an id leaves that comes with other bodies."""

import asyncio
from dataclasses import replace

import pytest

from shared.acceptance import Acceptor
from shared.errors import QueueUnavailable, StorageUnavailable
from shared.ports import RowKind
from shared.services import Services
from tests.support.application import new_job
from tests.support.fakes import World


async def test_a_job_whose_sending_failed_is_not_being_sent_any_more(
    world: World, services: Services
) -> None:
    acceptor = Acceptor(services)
    world.bus.fail_next("send")
    with pytest.raises(QueueUnavailable):
        await acceptor.accept(new_job(world), [])
    assert isinstance(acceptor.gave_up(), StorageUnavailable)
    await acceptor.accept(new_job(world, "evt_2"), [])
    assert isinstance(acceptor.gave_up(), StorageUnavailable)


async def test_a_job_that_was_being_sent_when_the_time_was_over_is_told_as_such(
    world: World, services: Services
) -> None:
    async def hang() -> None:
        limit.reschedule(asyncio.get_running_loop().time())
        await asyncio.Event().wait()

    acceptor = Acceptor(services)
    world.bus.before("send", hang)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:
            await acceptor.accept(new_job(world), [])
    assert isinstance(acceptor.gave_up(), QueueUnavailable)


async def test_other_bodies_under_one_id_leave_few_rows_however_many_they_are(
    world: World, services: Services
) -> None:
    job = new_job(world)
    await Acceptor(services).accept(job, [])
    for number in [*range(100), *range(100)]:
        other = replace(job, body_sha256=f"{number:064x}"[::-1])
        acceptance = await Acceptor(services).accept(other, [])
        assert (acceptance.duplicate, acceptance.same_body) == (True, number == 0)
    rows = await world.jobs.rows(job.job_id, RowKind.TIMELINE)
    assert {row.data["event"] for row in rows} == {"same_id_other_body"}
    assert len(rows) == 16
