"""Group commit."""

import asyncio
from collections.abc import Sequence

import pytest

from shared.adapters.coalescing import Coalescer, Outcomes
from shared.errors import QueueUnavailable


class Wire:
    """A flush that can be held, and remembers its groups."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.flying = 0
        self.error: Exception | None = None

    async def flush(self, group: Sequence[int]) -> Outcomes:
        self.flying += 1
        assert self.flying == 1, "one group at a time"
        self.groups.append(list(group))
        await self.open.wait()
        self.flying -= 1
        if self.error is not None:
            raise self.error
        return [ValueError(f"item {item}") if item < 0 else None for item in group]


async def _submitted(coalescer: Coalescer[int], *items: int) -> list["asyncio.Task[None]"]:
    tasks = [asyncio.create_task(coalescer.submit(item)) for item in items]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_what_arrives_while_a_group_is_on_its_way_goes_as_the_next_one() -> None:
    wire = Wire()
    coalescer = Coalescer(wire.flush, most=10)
    wire.open.clear()
    first = await _submitted(coalescer, 1)
    others = await _submitted(coalescer, 2, 3, 4)
    wire.open.set()
    await asyncio.gather(*first, *others)
    assert wire.groups == [[1], [2, 3, 4]]


async def test_a_group_has_a_size_limit() -> None:
    wire = Wire()
    await asyncio.gather(*await _submitted(Coalescer(wire.flush, most=2), *range(5)))
    assert [len(group) for group in wire.groups] == [2, 2, 1]


async def test_each_caller_gets_its_own_outcome() -> None:
    wire = Wire()
    tasks = await _submitted(Coalescer(wire.flush, most=10), 1, -2, 3, -4)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(result) for result in results] == ["None", "item -2", "None", "item -4"]


async def test_a_failed_flush_fails_its_group_only_and_with_errors_of_their_own() -> None:
    wire = Wire()
    coalescer = Coalescer(wire.flush, most=10)
    wire.error = QueueUnavailable("away")
    failed = await asyncio.gather(*await _submitted(coalescer, 1, 2), return_exceptions=True)
    assert [type(error) for error in failed] == [QueueUnavailable, QueueUnavailable]
    assert [str(error) for error in failed] == ["away", "away"]
    assert failed[0] is not failed[1]
    wire.error = None
    await coalescer.submit(3)


async def test_an_item_whose_caller_gave_up_before_its_turn_is_not_sent() -> None:
    wire = Wire()
    coalescer = Coalescer(wire.flush, most=10)
    wire.open.clear()
    first = await _submitted(coalescer, 1)
    given_up, kept = await _submitted(coalescer, 2, 3)
    given_up.cancel()
    await asyncio.sleep(0)
    wire.open.set()
    await asyncio.gather(*first, kept)
    assert wire.groups == [[1], [3]]


async def test_closing_fails_what_waits_and_what_flies_and_refuses_more() -> None:
    wire = Wire()
    coalescer = Coalescer(wire.flush, most=1)
    wire.open.clear()
    tasks = await _submitted(coalescer, 1, 2)
    await coalescer.aclose()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [QueueUnavailable, QueueUnavailable]
    with pytest.raises(QueueUnavailable):
        await coalescer.submit(3)
    assert wire.groups == [[1]]


async def test_nothing_runs_while_there_is_nothing_to_send() -> None:
    wire = Wire()
    coalescer = Coalescer(wire.flush, most=1)
    await coalescer.submit(1)
    await asyncio.sleep(0)
    assert {task for task in asyncio.all_tasks() if task is not asyncio.current_task()} == set()
