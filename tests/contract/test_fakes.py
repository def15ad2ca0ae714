"""What the fakes offer beyond the ports: planted faults, time, and looks inside."""

import asyncio
from datetime import timedelta

import pytest

from shared.deadletters.ports import Alert
from shared.errors import Conflict, QueueUnavailable, StorageUnavailable, TransientError
from tests.support.fakes import FakeClock, FakeRandomness, World
from tests.support.fakes.time import START
from tests.support.records import a_case, a_job, a_message, minutes_later


async def test_a_planted_error_comes_once_and_before_the_effect() -> None:
    world = World()
    world.jobs.fail_next("insert")
    with pytest.raises(StorageUnavailable):
        await world.jobs.insert(a_job(), [])
    assert world.jobs.all_jobs() == []
    assert await world.jobs.insert(a_job(), [])


async def test_a_lost_answer_comes_after_the_effect() -> None:
    world = World()
    world.bus.fail_next("send", after=True)
    with pytest.raises(QueueUnavailable):
        await world.bus.send(a_message())
    assert [sent.message_id for sent in world.bus.sent] == ["job_a:0:0"]


async def test_a_planted_error_can_be_of_any_kind_for_any_method_and_number_of_times() -> None:
    world = World()
    world.cases.fail_next(error=Conflict("planted"), times=2)
    for _ in range(2):
        with pytest.raises(Conflict):
            await world.cases.get("job_a")
    assert await world.cases.get("job_a") is None


async def test_a_storage_that_is_down_fails_everything_until_it_is_back() -> None:
    world = World()
    world.storage_down()
    for call in (world.jobs.load("a"), world.open.put("a", 0), world.groups.unalerted()):
        with pytest.raises(StorageUnavailable):
            await call
    await world.bus.send(a_message())
    world.storage_down(False)
    assert await world.jobs.load("a") is None


async def test_a_race_can_be_made_on_purpose() -> None:
    world = World()
    await world.jobs.insert(a_job(), [])
    mine = await world.jobs.load("job_a")
    assert mine is not None

    async def another_worker() -> None:
        theirs = await world.jobs.load("job_a")
        assert theirs is not None
        await world.jobs.commit(theirs, theirs.job.changed(START, claim=1))

    world.jobs.before("commit", another_worker)
    with pytest.raises(Conflict):
        await world.jobs.commit(mine, mine.job.changed(START, claim=2))
    assert world.jobs.job("job_a").claim == 1


async def test_latency_passes_on_the_fake_clock() -> None:
    world = World()
    world.blobs.latency = 2.5
    await world.blobs.info("inputs/a")
    assert world.clock.now() == START + timedelta(seconds=2.5)


async def test_a_sleeper_without_jump_waits_for_the_clock() -> None:
    clock = FakeClock(jump=False)
    sleeper = asyncio.create_task(clock.sleep(10))
    await asyncio.sleep(0)
    clock.advance(9)
    await asyncio.sleep(0)
    assert not sleeper.done()
    clock.advance(timedelta(seconds=1))
    await sleeper
    assert clock.slept == [10]


async def test_delayed_messages_are_delivered_when_due_and_once() -> None:
    world = World()
    await world.bus.send(a_message("job_late"), at=minutes_later(5))
    await world.bus.send(a_message("job_now"))
    assert [sent.message_id for sent in world.bus.take_due()] == ["job_now:0:0"]
    world.clock.advance(timedelta(minutes=5))
    assert [sent.message_id for sent in world.bus.take_due()] == ["job_late:0:0"]
    assert world.bus.take_due() == []


async def test_a_duplicate_is_dropped_only_within_the_window() -> None:
    world = World()
    await world.bus.send(a_message())
    world.clock.advance(timedelta(minutes=9))
    await world.bus.send(a_message())
    assert len(world.bus.accepted()) == 1
    world.clock.advance(timedelta(minutes=2))
    await world.bus.send(a_message())
    assert len(world.bus.accepted()) == 2
    assert [sent.dropped for sent in world.bus.sent] == [False, True, False]


async def test_an_alert_that_cannot_be_delivered_is_transient() -> None:
    world = World()
    world.alerts.fail_next()
    group = await world.groups.add(a_case())
    alert = Alert(
        fingerprint=group.fingerprint,
        task_type=group.task_type,
        code=group.code,
        category=group.category,
        count=group.count,
        link=None,
    )
    with pytest.raises(TransientError):
        await world.alerts.notify(alert)
    await world.alerts.notify(alert)
    assert world.alerts.alerts == [alert]


def test_chance_is_reproducible_and_can_be_set() -> None:
    one, other = FakeRandomness(seed=7), FakeRandomness(seed=7)
    assert [one.fraction() for _ in range(5)] == [other.fraction() for _ in range(5)]
    one.next_fractions = [0.0, 0.5]
    assert [one.fraction(), one.fraction()] == [0.0, 0.5]
    assert len({one.token()[:8] for _ in range(1000)}) == 1000


def test_telemetry_counts_by_some_of_its_labels() -> None:
    world = World()
    world.telemetry.count("cases", code="a", category="x")
    world.telemetry.count("cases", code="b", category="x")
    assert world.telemetry.counted("cases", category="x") == 2
    assert world.telemetry.counted("cases", code="a") == 1
    world.telemetry.observe("seconds", 1.5, task="t")
    assert world.telemetry.observed("seconds", task="t") == [1.5]
