"""Batches over the intake: one job each, in bounded time and number, whole or not acknowledged at all."""

import asyncio
from collections.abc import Sequence

import pytest

from devhost.senders import meta
from shared.errors import QueueUnavailable, StorageUnavailable
from shared.intake import EVENTS_AT_ONCE, Accepted, Ignored
from shared.jobs import Job, JobState
from shared.ports import Row
from shared.webhooks.event_grid import EventGrid
from shared.webhooks.meta import Meta
from shared.webhooks.rejections import BadSignature
from tests.support.fakes import World
from tests.unit.shared.batch_intake import build, meta_request, request, route, taken, updates
from tests.unit.shared.webhooks.batches import message, status, whatsapp
from tests.unit.shared.webhooks.requests import NOW


async def test_each_of_a_thousand_updates_becomes_one_job_with_one_insert(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Meta, "answer_within", 60.0)  # on a busy machine, too
    intake = build(world)
    receipts = await taken(intake, meta_request(updates(1000)))
    assert [type(receipt) for receipt in receipts] == [Accepted] * 1000
    jobs = world.jobs.all_jobs()
    assert len({job.job_id for job in jobs}) == 1000
    assert world.jobs.calls == ["insert"] * 1000
    assert len(world.bus.accepted()) == 1000
    assert world.open.keys() == {(job.job_id, 0) for job in jobs}
    assert world.telemetry.counted("webhooks_accepted", source="meta") == 1000


async def test_the_same_batch_again_in_another_grouping_makes_no_further_job(world: World) -> None:
    intake = build(world)
    await intake.receive("meta", meta_request(updates(20)))
    for people in (range(5), range(5, 10)):
        again = whatsapp([message(n) for n in people], [status(n) for n in people])
        await intake.receive("meta", meta_request(again))
    assert len(world.jobs.all_jobs()) == len(world.bus.accepted()) == 20
    assert world.telemetry.counted("webhooks_duplicate") == 20
    assert world.telemetry.counted("webhooks_same_id_other_body") == 0


async def test_an_update_twice_in_one_batch_is_one_job(world: World) -> None:
    await build(world).receive("meta", meta_request(whatsapp([message(1), message(1), message(2)])))
    assert len(world.jobs.all_jobs()) == len(world.bus.accepted()) == 2


async def test_parallel_copies_of_a_batch_make_each_job_once(world: World) -> None:
    intake, sent = build(world), meta_request(updates(20))
    await asyncio.gather(*(intake.receive("meta", sent) for _ in range(20)))
    assert len(world.jobs.all_jobs()) == len(world.bus.accepted()) == 20


async def test_only_so_many_updates_are_worked_on_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, most = 0, 0
    insert = world.jobs.insert

    async def counted(job: Job, rows: Sequence[Row]) -> bool:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        for _ in range(5):
            await asyncio.sleep(0)
        inserted = await insert(job, rows)
        busy -= 1
        return inserted

    monkeypatch.setattr(world.jobs, "insert", counted)
    await build(world).receive("meta", meta_request(updates(200)))
    assert most == EVENTS_AT_ONCE


@pytest.mark.parametrize(
    ("fake", "method", "error"),
    [
        ("jobs", "insert", StorageUnavailable),
        ("open", "put", StorageUnavailable),
        ("bus", "send", QueueUnavailable),
    ],
)
@pytest.mark.parametrize("after", [False, True])
async def test_a_batch_of_which_a_part_fails_is_not_acknowledged_and_its_repeat_finishes_it(
    world: World, fake: str, method: str, error: type[Exception], after: bool
) -> None:
    intake, sent = build(world), meta_request(updates(100))
    getattr(world, fake).fail_next(method, after=after, times=7)
    with pytest.raises(error):
        await intake.receive("meta", sent)
    assert len(await taken(intake, sent)) == 100
    jobs = world.jobs.all_jobs()
    assert len(jobs) == len(world.bus.accepted()) == 100
    assert {job.state for job in jobs} == {JobState.QUEUED}
    assert world.open.keys() == {(job.job_id, 0) for job in jobs}


async def test_a_batch_whose_storage_hangs_is_given_up_in_time_and_its_repeat_finishes_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake, sent = build(world), meta_request(updates(100))

    async def hang() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Meta, "answer_within", 0.2)
    world.jobs.before("insert", hang)
    with pytest.raises(StorageUnavailable):
        await intake.receive("meta", sent)
    monkeypatch.undo()
    assert len(await taken(intake, sent)) == 100
    assert len(world.jobs.all_jobs()) == len(world.bus.accepted()) == 100


async def test_only_the_updates_that_a_route_wants_become_jobs(world: World) -> None:
    wanted = route("whatsapp_business_account.messages.text")
    await build(world, wanted).receive("meta", meta_request(updates(20)))
    assert {job.event_type for job in world.jobs.all_jobs()} == {wanted.event}
    assert len(world.jobs.all_jobs()) == 10
    sent = meta_request(whatsapp([], [status(1)]))
    assert await taken(build(World(), wanted), sent) == [Ignored()]


async def test_a_forged_batch_with_the_ids_of_a_real_one_does_not_disturb_it(world: World) -> None:
    intake, real = build(world), meta_request(updates(10))
    forged = request(meta.signed(real.body, "a secret of somebody else", now=NOW))
    with pytest.raises(BadSignature):
        await intake.receive("meta", forged)
    assert world.jobs.calls == []
    await intake.receive("meta", real)
    assert world.telemetry.counted("webhooks_duplicate") == 0
    assert world.telemetry.counted("webhooks_accepted") == 10


def test_a_batch_has_the_time_that_its_sender_waits() -> None:
    assert EventGrid.answer_within > Meta.answer_within
