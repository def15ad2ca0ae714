"""One call through its step of the script: the wait, the effect, and what is delivered."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from devhost.outside.messages import JSON_TYPE, Answer
from devhost.outside.steps import Fault, Garbage, Step

ErrorOf = Callable[[int, str], Answer]
"""The answer of a status, with the service's error code or its usual one."""

_LATE = (Fault.CUT_DURING, Fault.CUT_AFTER)
_ERROR_PAGE = (
    b"<!doctype html><html><head><title>502 Bad Gateway</title></head><body>Bad Gateway</body></html>"
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the caller gets: an answer, as much `filler` after it, and where the connection ends."""

    answer: Answer
    filler: int = 0
    cut: Fault = Fault.NONE
    reset: bool = False


class Holds:
    """Calls that wait until they are released by name."""

    def __init__(self) -> None:
        self._held: dict[str, list[asyncio.Future[None]]] = {}

    def names(self) -> dict[str, int]:
        """How many calls wait by each name."""
        return {name: len(waiting) for name, waiting in self._held.items()}

    async def wait(self, name: str) -> None:
        """Wait until `release(name)`."""
        released: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._held.setdefault(name, [])
        waiting.append(released)
        try:
            await released
        finally:
            if released in waiting:
                waiting.remove(released)
            if not waiting and self._held.get(name) is waiting:
                del self._held[name]

    def release(self, name: str) -> int:
        """Let all go on that wait by this name; how many."""
        waiting = self._held.pop(name, [])
        for released in waiting:
            if not released.done():
                released.set_result(None)
        return len(waiting)

    def release_all(self) -> None:
        """Let all go on."""
        for name in list(self._held):
            self.release(name)


async def perform(step: Step, act: Callable[[], Answer], error: ErrorOf, holds: Holds) -> Delivery:
    """Do to a call what its step says; `act` is the effect and its answer, `error` the answer of a status."""
    late = step.after or step.fault in _LATE
    if not late:
        await _pause(step, holds)
    happens = late or step.fault is Fault.NONE
    answer = act() if happens else Answer(200)
    if late:
        await _pause(step, holds)
    delivery = _delivery(step, answer, error)
    if step.content_type:
        return replace(delivery, answer=replace(delivery.answer, content_type=step.content_type))
    return delivery


async def _pause(step: Step, holds: Holds) -> None:
    if step.slow:
        await asyncio.sleep(step.slow)
    if step.hold:
        await holds.wait(step.hold)


def _delivery(step: Step, answer: Answer, error: ErrorOf) -> Delivery:
    match step.fault:
        case Fault.STATUS:
            failed = error(step.status, step.code)
            if step.retry_after is not None:
                failed = failed.with_headers(retry_after=f"{step.retry_after:g}")
            if step.location:
                failed = failed.with_headers(location=step.location)
            return Delivery(replace(failed, posts=answer.posts))
        case Fault.GARBAGE:
            return _spoiled(step, answer)
        case Fault.CUT_BEFORE | Fault.CUT_DURING | Fault.CUT_AFTER:
            return Delivery(answer, cut=step.fault, reset=step.reset)
        case _:
            return Delivery(answer)


def _spoiled(step: Step, answer: Answer) -> Delivery:
    bodies = {
        Garbage.NOT_JSON: b"{not json",
        Garbage.WRONG_SHAPE: b'{"unexpected": [true, null]}',
        Garbage.HTML: _ERROR_PAGE,
        Garbage.EMPTY: b"",
        Garbage.TRUNCATED: answer.body[: len(answer.body) // 2],
        Garbage.ZEROS: bytes(len(answer.body)),
        Garbage.HUGE: b'{"padding": "' if answer.content_type == JSON_TYPE else answer.body,
    }
    content_type = "text/html" if step.garbage is Garbage.HTML else answer.content_type
    spoiled = replace(answer, status=200, body=bodies[step.garbage], content_type=content_type)
    return Delivery(spoiled, filler=step.size if step.garbage is Garbage.HUGE else 0)
