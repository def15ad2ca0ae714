"""Several receivers, prefetching, credit"""

from __future__ import annotations

import asyncio

from tests.broker.conformance.behaviour import behaviour
from tests.broker.conformance.desk import Desk, texts
from tests.broker.conformance.sdk import Service


async def serve_both(desk: Desk, other: Desk) -> None:
    """Until each got a message: only then is it certain that the broker has read the credit of both."""
    served: set[int] = set()
    while len(served) < 2:
        await desk.send("first")
        for number, one in enumerate((desk, other)):
            for message in await one.receiver.receive_messages(1, max_wait_time=1):
                await one.receiver.complete_message(message)
                served.add(number)


@behaviour
async def test_two_waiting_receivers_share_what_comes_evenly(service: Service) -> None:
    async with service.desk(prefetch_count=10) as desk, desk.another(prefetch_count=10) as other:
        await serve_both(desk, other)
        await desk.send_list(range(10))
        mine, others = await asyncio.gather(desk.receive(5), other.receive(5))
        assert sorted(texts(mine) + texts(others)) == [f"{n}" for n in range(10)]
        await asyncio.gather(desk.assert_empty(), other.assert_empty())


@behaviour
async def test_receivers_that_work_side_by_side_get_each_message_once(service: Service) -> None:
    async with service.desk() as desk, desk.another() as second, desk.another() as third:
        await desk.send_list(range(60))
        found: list[str] = []

        async def work(mine: object) -> None:
            receiver = mine.receiver  # type: ignore[attr-defined]  # a desk
            while len(found) < 60:
                for message in await receiver.receive_messages(7, max_wait_time=1):
                    found.append(str(message))
                    await receiver.complete_message(message)

        await asyncio.gather(*(work(one) for one in (desk, second, third)))
        assert sorted(found, key=int) == [f"{n}" for n in range(60)]
        assert await desk.stored() == []


@behaviour
async def test_a_receiver_that_asks_for_one_leaves_the_rest_to_others(service: Service) -> None:
    async with service.desk() as desk, desk.another() as other:
        await desk.send_list(range(3))
        assert str(await desk.one()) == "0"
        assert texts(await other.receive(2)) == ["1", "2"]


@behaviour
async def test_credit_left_with_an_idle_receiver_costs_no_delivery(service: Service) -> None:
    async with service.desk() as idle, idle.another() as busy:
        await idle.send("first")
        assert len(await idle.receiver.receive_messages(10, max_wait_time=10)) == 1
        await idle.send("second")  # goes to the idle receiver, which has credit and does not read
        message = (await busy.receive(wait=30))[0]
        assert (str(message), message.delivery_count) == ("second", 0)


@behaviour
async def test_an_idle_receiver_with_credit_left_gets_what_came_meanwhile_when_it_asks_again(
    service: Service,
) -> None:
    async with service.desk() as desk:
        await desk.send("first")
        assert len(await desk.receiver.receive_messages(10, max_wait_time=10)) == 1
        await desk.send("second", "third")
        got = await desk.receive(2, wait=30)
        assert [(str(m), m.delivery_count) for m in got] == [("second", 0), ("third", 0)]


@behaviour
async def test_a_closed_receiver_gives_back_what_the_application_never_saw(service: Service) -> None:
    async with service.desk() as desk:
        async with desk.another(prefetch_count=10) as fetching:
            await desk.send("seen", "unseen", "unseen too")
            (seen,) = await fetching.receiver.receive_messages(1, max_wait_time=10)
        got = await desk.receive(2)
        assert [(str(m), m.delivery_count) for m in got] == [("unseen", 0), ("unseen too", 0)]
        assert str(seen) == "seen"
        await desk.assert_empty()


@behaviour
async def test_a_closed_receiver_keeps_the_locks_of_what_the_application_has_in_hand(
    service: Service,
) -> None:
    async with service.desk("short") as desk:
        await desk.send("x")
        async with desk.another() as closing:
            message = await closing.one()
        again = await desk.one()
        assert message.locked_until_utc is not None
        assert again.locked_until_utc is not None
        assert again.locked_until_utc > message.locked_until_utc
        assert again.delivery_count == 1


@behaviour
async def test_a_prefetching_receiver_gets_everything_once_and_in_order(service: Service) -> None:
    async with service.desk(prefetch_count=7) as desk:
        await desk.send_list(range(60))
        got = await desk.as_they_come(60)
        assert texts(got) == [f"{n}" for n in range(60)]
        for message in got:
            await desk.receiver.complete_message(message)
        assert await desk.stored() == []


@behaviour
async def test_a_prefetched_message_is_locked_from_when_it_was_fetched(service: Service) -> None:
    async with service.desk() as desk, desk.another(prefetch_count=10) as fetching:
        await desk.send("a", "b")
        assert str(await fetching.one()) == "a"
        await desk.assert_empty()
        assert str(await fetching.one()) == "b"


@behaviour
async def test_a_prefetching_receiver_may_iterate(service: Service) -> None:
    async with service.desk(prefetch_count=5, max_wait_time=4) as desk:
        await desk.send_list(range(12))
        got = []
        async for message in desk.receiver:
            got.append(str(message))
            await desk.receiver.complete_message(message)
        assert got == [f"{n}" for n in range(12)]
        assert await desk.stored() == []


@behaviour
async def test_a_receive_without_a_count_takes_as_many_as_are_prefetched(service: Service) -> None:
    async with service.desk(prefetch_count=3) as desk:
        await desk.send_list(range(3))
        got: list[str] = []
        while len(got) < 3:
            got += texts(await desk.receiver.receive_messages(None, max_wait_time=10))
        assert got == ["0", "1", "2"]


@behaviour
async def test_a_receiver_opened_later_gets_what_is_left(service: Service) -> None:
    async with service.desk() as desk:
        await desk.send_list(range(4))
        first = await desk.receive(2)
        async with desk.another() as later:
            assert texts(await later.receive(2)) == ["2", "3"]
        assert texts(first) == ["0", "1"]


@behaviour
async def test_a_message_abandoned_by_one_receiver_goes_to_another_that_waits(service: Service) -> None:
    async with service.desk() as desk, desk.another() as other:
        await desk.send("x")
        message = await desk.one()
        waiting = asyncio.create_task(other.one())
        await asyncio.sleep(0.5)
        await desk.receiver.abandon_message(message)
        again = await waiting
        assert (str(again), again.delivery_count) == ("x", 1)
