"""Makes blocking objects awaitable: each call runs in a thread of the loop's pool."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

_END = object()
_AT_ONCE = frozenset({"register"})
"""Methods that block neither in the aio SDK nor in the other."""


def unwrapped(value: Any) -> Any:
    """The SDK's own object."""
    return value._inner if isinstance(value, InThreads) else value


class InThreads:
    """A client, sender, receiver or renewer of the blocking SDK, with the methods of its aio twin."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found
        if name in _AT_ONCE:
            return partial(_call, found)
        if name.startswith("get_"):
            return lambda *given, **named: InThreads(_call(found, *given, **named))
        return partial(asyncio.to_thread, _call, found)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._inner.__enter__)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await asyncio.to_thread(self._inner.__exit__, *raised)

    def __aiter__(self) -> _Iteration:
        return _Iteration(iter(self._inner))


class _Iteration:
    def __init__(self, inner: Iterator[Any]) -> None:
        self._inner = inner

    def __aiter__(self) -> _Iteration:
        return self

    async def __anext__(self) -> Any:
        found = await asyncio.to_thread(next, self._inner, _END)
        if found is _END:
            raise StopAsyncIteration
        return found


def _call(function: Any, *given: Any, **named: Any) -> Any:
    return function(*map(unwrapped, given), **{name: unwrapped(value) for name, value in named.items()})
