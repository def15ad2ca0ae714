"""The pool of links, with links that open and fail on command."""

import asyncio
from typing import Any, ClassVar, cast

import pytest

from devhost.functions import service_bus_pool
from devhost.functions.service_bus_link import QueueAddress
from devhost.functions.service_bus_pool import LinkPool

ADDRESS = QueueAddress("unused", "work", dead_letters=False)


class _Link:
    """Stands for a QueueLink; every link made is in `made`."""

    made: ClassVar[list[Any]] = []
    refuse: ClassVar[bool] = False

    def __init__(self, address: QueueAddress) -> None:
        assert address is ADDRESS
        self.broken = False
        self.closed = False
        self.made.append(self)

    async def open(self) -> None:
        await asyncio.sleep(0)
        if self.refuse:
            raise ConnectionRefusedError

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> type[_Link]:
    monkeypatch.setattr(_Link, "made", [])
    monkeypatch.setattr(_Link, "refuse", False)
    monkeypatch.setattr(service_bus_pool, "QueueLink", _Link)
    return _Link


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_as_many_links_wait_in_reserve_as_are_in_use(links: type[_Link]) -> None:
    pool = LinkPool(ADDRESS, limit=16)
    for taken in range(1, 5):
        await pool.take()
        await _settled()
        assert len(links.made) == 2 * taken
    await pool.close()


async def test_there_are_never_more_links_than_the_limit(links: type[_Link]) -> None:
    pool = LinkPool(ADDRESS, limit=3)
    taken = [await pool.take() for _ in range(3)]
    await _settled()
    assert len(links.made) == 3
    for link in taken:
        pool.put(link)
    for _ in range(3):
        await pool.take()
    await _settled()
    assert len(links.made) == 3
    await pool.close()


async def test_a_link_is_used_again_unless_it_broke(links: type[_Link]) -> None:
    pool = LinkPool(ADDRESS, limit=1)
    first = await pool.take()
    pool.put(first)
    assert await pool.take() is first
    cast("_Link", first).broken = True
    pool.put(first)
    assert await pool.take() is not first
    await _settled()
    assert links.made[0].closed
    await pool.close()


async def test_a_failed_link_takes_the_reserve_with_it_but_no_capacity(links: type[_Link]) -> None:
    pool = LinkPool(ADDRESS, limit=2)
    for _ in range(5):
        link = await pool.take()
        await _settled()
        pool.discard(link)
    await _settled()
    assert all(link.closed for link in links.made)
    assert [await pool.take(), await pool.take()] == links.made[-2:]
    await pool.close()


async def test_what_keeps_a_link_from_opening_is_raised_and_the_next_try_is_fresh(links: type[_Link]) -> None:
    pool = LinkPool(ADDRESS, limit=2)
    links.refuse = True
    with pytest.raises(ConnectionRefusedError):
        await pool.take()
    links.refuse = False
    await pool.take()
    await pool.close()
    assert all(link.closed for link in links.made[:1])


async def test_closing_closes_the_reserve_and_what_is_being_opened(links: type[_Link]) -> None:
    pool = LinkPool(ADDRESS, limit=4)
    in_use = await pool.take()
    await pool.close()
    assert [link.closed for link in links.made if link is not in_use] == [True] * (len(links.made) - 1)
