"""Requests over one link after another, with receivers that open, answer and fail on command."""

import asyncio
from typing import Any, Self

import pytest
from azure.servicebus.exceptions import MessageLockLostError, ServiceBusConnectionError

from devhost.functions.service_bus_management import ManagementLinks

SECONDS = 5.0


class _Receiver:
    """Stands for a receiver of the SDK."""

    def __init__(self, office: "_Office") -> None:
        self._office = office
        self.opened = self.closed = False
        self.answers = 0

    async def __aenter__(self) -> Self:
        await self._office.opening()
        self.opened = True
        return self

    async def close(self) -> None:
        self.closed = True

    async def request(self) -> None:
        assert self.opened
        assert not self.closed
        await asyncio.sleep(0)
        if self._office.failure is not None:
            raise self._office.failure
        self.answers += 1


class _Office:
    """Makes receivers and decides how they fare."""

    def __init__(self, limit: int = 1000) -> None:
        self.failure: Exception | None = None
        self.refusal: Exception | None = None
        self.stuck = False
        self.made: list[_Receiver] = []
        first: Any = self.another()
        first.opened = True
        another: Any = self.another
        self.links = ManagementLinks(first, another, limit=limit)

    def another(self) -> _Receiver:
        self.made.append(_Receiver(self))
        return self.made[-1]

    async def opening(self) -> None:
        await asyncio.sleep(0)
        if self.refusal is not None:
            raise self.refusal
        if self.stuck:
            await asyncio.Event().wait()

    async def ask(self, seconds: float = SECONDS) -> None:
        request: Any = _Receiver.request
        await self.links.ask(request, seconds)


@pytest.fixture
def office() -> _Office:
    return _Office()


async def test_a_link_is_changed_before_its_answers_run_out_and_every_request_is_answered() -> None:
    office = _Office(limit=3)
    for _ in range(10):
        await office.ask()
    assert [receiver.answers for receiver in office.made] == [3, 3, 3, 1]
    await office.links.close()
    assert [receiver.closed for receiver in office.made] == [False, True, True, True]


async def test_the_next_link_is_open_before_the_one_in_use_is_let_go() -> None:
    office = _Office(limit=1)
    await office.ask()
    await office.ask()
    _, second, *_ = office.made
    office.stuck = True
    asking = asyncio.create_task(office.ask())
    while len(office.made) < 3:  # noqa: ASYNC110  the stand-in has no event
        await asyncio.sleep(0.01)
    assert len(office.made) == 3
    assert not second.closed
    asking.cancel()
    await asyncio.wait([asking])
    await office.links.close()


@pytest.mark.parametrize("how", ["refused", "stuck"])
async def test_a_worn_link_goes_on_serving_while_no_other_opens(how: str) -> None:
    office = _Office(limit=1)
    await office.ask()
    office.refusal = ConnectionRefusedError() if how == "refused" else None
    office.stuck = how == "stuck"
    for _ in range(3):
        await office.ask(0.2)
    assert office.made[0].answers == 4
    office.refusal, office.stuck = None, False
    await office.ask()
    assert office.made[-1].answers == 1
    await office.links.close()
    assert all(receiver.closed for receiver in office.made[1:])


async def test_after_a_failure_the_next_request_takes_a_fresh_link(office: _Office) -> None:
    office.failure = ServiceBusConnectionError()
    with pytest.raises(ServiceBusConnectionError):
        await office.ask()
    office.failure = None
    await office.ask()
    assert [receiver.answers for receiver in office.made] == [0, 1]
    await office.links.close()


async def test_a_link_that_failed_is_not_asked_again_when_no_other_opens(office: _Office) -> None:
    office.links.suspect()
    office.refusal = ConnectionRefusedError()
    with pytest.raises(ConnectionRefusedError):
        await office.ask()
    assert office.made[0].answers == 0
    await office.links.close()


async def test_a_request_without_an_answer_ends_in_time(office: _Office) -> None:
    async def unanswered(_: object) -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await office.links.ask(unanswered, 0.02)
    await office.ask()
    assert [receiver.answers for receiver in office.made] == [0, 1]
    await office.links.close()


async def test_a_lost_lock_says_nothing_about_the_link(office: _Office) -> None:
    office.failure = MessageLockLostError()
    with pytest.raises(MessageLockLostError):
        await office.ask()
    assert not office.links.worn
    assert len(office.made) == 1


async def test_a_changed_or_failed_link_takes_no_further_message() -> None:
    changed, failed = _Office(limit=1), _Office()
    worn = [changed.links.worn]
    for _ in range(2):
        await changed.ask()
        worn.append(changed.links.worn)
    assert worn == [False, True, True]
    failed.links.suspect()
    assert failed.links.worn
    await changed.links.close()
