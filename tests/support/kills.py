"""Ending a use case at a failpoint: nothing after it runs, as when the process dies there."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

from shared.failpoints import Point, install


class Killed(BaseException):
    """The process died: no Exception, because nothing in it may react."""


@asynccontextmanager
async def killed_at(point: Point) -> AsyncIterator[list[str]]:
    """Expects that the block comes to `point`, and ends it there. Yields the points that were reached."""
    reached: list[str] = []

    async def hook(name: str) -> None:
        reached.append(name)
        if name == point.value:
            raise Killed

    install(hook)
    try:
        yield reached
    except Killed:
        return
    finally:
        install(None)
    raise AssertionError(f"{point.value} was never reached, only {reached}")


async def points_of(call: Awaitable[object]) -> list[str]:
    """The failpoints that `call` comes to, in order."""
    reached: list[str] = []

    async def hook(name: str) -> None:
        reached.append(name)

    install(hook)
    try:
        await call
    finally:
        install(None)
    return reached
