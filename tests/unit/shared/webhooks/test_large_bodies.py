"""Room for large bodies: bounded, first come first served, given back; and their work beside the loop."""

import asyncio
import threading

import pytest

from shared.webhooks.large_bodies import LARGE_BODY, LargeBodies, Overloaded, aside

LARGE = LARGE_BODY + 1


def soon() -> float:
    """A time that has come as soon as something is waited for."""
    return asyncio.get_running_loop().time()


async def test_small_bodies_need_no_room() -> None:
    bodies = LargeBodies(most=LARGE)
    async with bodies.turn(LARGE), bodies.turn(LARGE_BODY, soon()), bodies.turn(10, soon()):
        pass


async def test_a_body_without_room_is_told_so_in_time_and_leaves_no_trace() -> None:
    bodies = LargeBodies(most=2 * LARGE)
    async with bodies.turn(LARGE), bodies.turn(LARGE):
        with pytest.raises(Overloaded):
            async with bodies.turn(LARGE, soon()):
                pytest.fail("there was room")
    async with bodies.turn(LARGE, soon()), bodies.turn(LARGE, soon()):
        pass


async def test_room_is_given_back_by_what_failed() -> None:
    bodies = LargeBodies(most=LARGE)
    for _ in range(3):
        with pytest.raises(ValueError, match="in between"):
            async with bodies.turn(LARGE, soon()):
                raise ValueError("in between")


async def test_a_body_over_all_room_comes_alone() -> None:
    bodies = LargeBodies(most=LARGE)
    async with bodies.turn(10 * LARGE, soon()):
        with pytest.raises(Overloaded):
            async with bodies.turn(LARGE, soon()):
                pytest.fail("there was room")


async def test_the_largest_body_is_not_passed_by_smaller_ones_for_ever() -> None:
    bodies, order = LargeBodies(most=3 * LARGE), list[str]()

    async def enter(name: str, size: int) -> None:
        async with bodies.turn(size):
            order.append(name)

    async with bodies.turn(LARGE):
        waiting = [asyncio.create_task(enter("largest", 3 * LARGE))]
        await asyncio.sleep(0)
        waiting += [asyncio.create_task(enter(f"later {number}", LARGE)) for number in range(3)]
        await asyncio.sleep(0)
        assert order == []
    await asyncio.gather(*waiting)
    assert order[0] == "largest"
    assert len(order) == 4


async def test_never_more_than_the_room_is_in_use_and_all_come_in() -> None:
    bodies, used, most = LargeBodies(most=4 * LARGE), 0, 0

    async def enter(size: int) -> None:
        nonlocal used, most
        async with bodies.turn(size):
            used += size
            most = max(most, used)
            await asyncio.sleep(0)
            used -= size

    await asyncio.gather(*(enter(LARGE * (1 + number % 3)) for number in range(60)))
    assert (used, 0 < most <= 4 * LARGE) == (0, True)


async def test_work_on_a_large_body_is_done_in_a_thread_and_its_error_comes_through() -> None:
    here = threading.get_ident()
    assert await aside(b"x", threading.get_ident) == here
    assert await aside(b"x" * LARGE, threading.get_ident) != here

    def fail() -> None:
        raise ValueError("of the work")

    for content in (b"x", b"x" * LARGE):
        with pytest.raises(ValueError, match="of the work"):
            await aside(content, fail)


async def test_work_that_does_not_end_in_time_is_given_up() -> None:
    go = threading.Event()
    try:
        with pytest.raises(Overloaded):
            await aside(b"x" * LARGE, lambda: go.wait(30), soon())
    finally:
        go.set()
