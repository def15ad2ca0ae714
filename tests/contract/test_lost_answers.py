"""The real storage adapters when an answer is lost: what was written is known as written, once."""

from dataclasses import replace

import pytest

from shared.errors import Conflict, StorageUnavailable
from shared.limits.breaker import CLOSED, Breaker
from shared.limits.ports import Slot
from shared.limits.rates import Meter, Place
from shared.ports import Row, RowKind
from tests.contract.addresses import warm
from tests.contract.stores import Stores
from tests.support.lossy import Relay
from tests.support.records import MOMENT, a_job, minutes_later


async def test_an_insert_whose_answer_was_lost_still_says_that_it_inserted(
    lossy: tuple[Stores, Relay],
) -> None:
    stores, relay = lossy
    await warm(stores)
    relay.lose = 1
    assert await stores.jobs.insert(a_job(), [Row(kind=RowKind.INPUT, key="body", content=b"x")])
    assert relay.lost == 1
    assert not await stores.jobs.insert(a_job(), [])


async def test_a_commit_whose_answer_was_lost_is_known_by_its_token(lossy: tuple[Stores, Relay]) -> None:
    stores, relay = lossy
    await stores.jobs.insert(a_job(), [])
    snapshot = await stores.jobs.load("job_a")
    assert snapshot is not None
    relay.lose = 1
    committed = await stores.jobs.commit(snapshot, snapshot.job.changed(MOMENT, claim=1))
    assert relay.lost == 1
    again = await stores.jobs.commit(committed, committed.job.changed(MOMENT, claim=2))
    assert again.job.claim == 2
    with pytest.raises(Conflict):
        await stores.jobs.commit(snapshot, snapshot.job.changed(MOMENT, claim=3))


async def test_a_replaced_row_whose_answer_was_lost_is_known_by_what_it_holds(
    lossy: tuple[Stores, Relay],
) -> None:
    stores, relay = lossy
    await stores.jobs.add_row("job_a", Row(kind=RowKind.OUTBOX, key="k"))
    read = await stores.jobs.row("job_a", RowKind.OUTBOX, "k")
    assert read is not None
    assert read.version is not None
    relay.lose = 1
    written = await stores.jobs.replace_row("job_a", replace(read, data={"by": "us"}), read.version)
    assert relay.lost == 1
    assert written is not None
    assert await stores.jobs.replace_row("job_a", replace(read, data={"by": "them"}), read.version) is None
    assert await stores.jobs.replace_row("job_a", replace(read, data={"by": "us again"}), written)


async def test_an_insert_that_never_gets_an_answer_is_unavailable_and_safe_to_repeat(
    lossy: tuple[Stores, Relay],
) -> None:
    stores, relay = lossy
    await warm(stores)
    relay.lose = 10
    with pytest.raises(StorageUnavailable):
        await stores.jobs.insert(a_job(), [])
    relay.lose = 0
    assert not await stores.jobs.insert(a_job(), [])
    assert await stores.jobs.load("job_a") is not None


async def test_a_breaker_whose_writes_answer_was_lost_is_known_as_written(
    lossy: tuple[Stores, Relay],
) -> None:
    stores, relay = lossy
    first = await stores.breakers.write("openai", Breaker(failures=1), None)
    assert first is not None
    relay.lose = 1
    second = await stores.breakers.write("openai", Breaker(failures=2), first.version)
    assert relay.lost == 1
    assert second == await stores.breakers.load("openai")
    assert await stores.breakers.write("openai", CLOSED, first.version) is None


async def test_a_place_whose_answer_was_lost_is_held(lossy: tuple[Stores, Relay]) -> None:
    stores, relay = lossy
    slot = Slot(number=0, token="one", since=MOMENT, until=minutes_later(1))
    await stores.slots.take("warm", slot, None)
    relay.lose = 1
    held = await stores.slots.take("tenant", slot, None)
    assert relay.lost == 1
    assert held == slot
    assert await stores.slots.take("tenant", replace(slot, token="two"), None) is None
    await stores.slots.release("tenant", held)
    assert await stores.slots.slots("tenant") == []


async def test_a_start_whose_answer_was_lost_is_counted_once(lossy: tuple[Stores, Relay]) -> None:
    stores, relay = lossy
    assert await stores.slots.advance("tenant", Meter(), None)
    stored = await stores.slots.meter("tenant")
    relay.lose = 1
    meter = Meter(full_at=minutes_later(1), next_start=MOMENT, asked=MOMENT)
    assert await stores.slots.advance("tenant", meter, stored.version, "job_a")
    assert relay.lost == 1
    assert (await stores.slots.meter("tenant")).meter == meter
    assert await stores.slots.place("tenant", "job_a") == Place(start=MOMENT, asked=MOMENT)
    assert not await stores.slots.advance("tenant", Meter(), stored.version)


async def test_a_blob_whose_answer_was_lost_is_there_and_whole(lossy_blobs: tuple[Stores, Relay]) -> None:
    stores, relay = lossy_blobs
    await stores.blobs.put_if_absent(f"{stores.container}/warm", b"x", "text/plain")
    relay.lose = 1
    await stores.blobs.put_if_absent(f"{stores.container}/a", b"content", "text/plain")
    assert relay.lost == 1
    assert await stores.blobs.read(f"{stores.container}/a", max_bytes=10) == b"content"


async def test_a_read_is_asked_again_when_its_answer_is_lost(lossy: tuple[Stores, Relay]) -> None:
    stores, relay = lossy
    await stores.jobs.insert(a_job(), [])
    await stores.open.put("job_a", 0)
    relay.lose = 1
    assert await stores.jobs.load("job_a") is not None
    relay.lose = 1
    assert len([entry async for entry in stores.open.entries()]) == 1
    assert relay.lost == 2
