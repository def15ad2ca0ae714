"""Answers and the credit they need: none is lost, and nobody waits for one for ever."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from devhost.amqp.performatives import RECEIVER, Attach, Flow
from devhost.servicebus import replies
from devhost.servicebus.faults import FaultError
from devhost.servicebus.replies import ReplyLink
from devhost.servicebus.session import Session

ATTACH = Attach(name="l", handle=1, role=RECEIVER)


class FakeSession:
    """What a link sees of its session and connection."""

    def __init__(self) -> None:
        self.connection = self.afterbeats = self
        self.reply_links: dict[str, ReplyLink] = {}
        self.sent: list[bytes] = []
        self.flows: list[dict[str, Any]] = []
        self.closed: asyncio.Future[FaultError] = asyncio.get_running_loop().create_future()

    def send_settled(self, _handle: int, payload: bytes, tag: bytes) -> None:
        assert len(tag) == 16
        self.sent.append(payload)

    def send_flow(self, **flow: Any) -> None:
        self.flows.append(flow)

    def answered(self) -> None:
        """Empty frames follow an answer."""

    def close(self, fault: FaultError) -> None:
        if not self.closed.done():
            self.closed.set_result(fault)


def link_of(session: FakeSession) -> ReplyLink:
    link = ReplyLink(cast("Session", session), ATTACH, "node")
    link.start()
    return link


def grant(link: ReplyLink, credit: int, *, delivery_count: int = 0, drain: bool = False) -> None:
    link.on_flow(
        Flow(
            incoming_window=100,
            next_outgoing_id=0,
            outgoing_window=100,
            handle=1,
            delivery_count=delivery_count,
            link_credit=credit,
            drain=drain,
        )
    )


async def ask(link: ReplyLink, name: str) -> None:
    if await link.turn():
        await asyncio.sleep(0)
        link.reply(name.encode())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "PATIENCE", 0.05)


@pytest.mark.usefixtures("impatient")
async def test_a_request_without_credit_for_its_answer_is_not_performed_and_ends_the_connection() -> None:
    session = FakeSession()
    link = link_of(session)
    grant(link, 1)
    await ask(link, "first")
    assert not await link.turn()
    fault = session.closed.result()
    assert fault.condition == "amqp:connection:forced"
    assert "credit" in fault.description
    assert session.sent == [b"first"]


async def test_credit_that_comes_late_answers_everything_once() -> None:
    session = FakeSession()
    link = link_of(session)
    asked = [asyncio.create_task(ask(link, f"{n}")) for n in range(5)]
    for credit in range(1, 6):
        while len(session.sent) < credit - 1:  # noqa: ASYNC110  the stand-in has no event
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        assert len(session.sent) == credit - 1
        grant(link, credit)
    await asyncio.gather(*asked)
    assert session.sent == [b"%d" % n for n in range(5)]
    assert not session.closed.done()


@pytest.mark.usefixtures("impatient")
async def test_credit_that_came_in_time_leaves_no_timer_behind() -> None:
    session = FakeSession()
    link = link_of(session)
    grant(link, 1)
    assert await link.turn()
    grant(link, 0)
    link.reply(b"x")
    grant(link, 1)
    await asyncio.sleep(0.1)
    assert session.sent == [b"x"]
    assert not session.closed.done()


@pytest.mark.usefixtures("impatient")
async def test_an_answer_whose_credit_was_taken_back_for_good_ends_the_connection() -> None:
    session = FakeSession()
    link = link_of(session)
    grant(link, 1)
    assert await link.turn()
    grant(link, 0)
    link.reply(b"x")
    assert (await asyncio.wait_for(session.closed, 60)).condition == "amqp:connection:forced"
    assert session.sent == []


async def test_no_more_answers_are_promised_than_there_is_credit() -> None:
    session = FakeSession()
    link = link_of(session)
    grant(link, 2)
    assert await link.turn()
    assert await link.turn()
    third = asyncio.create_task(link.turn())
    await asyncio.sleep(0.01)
    assert not third.done()
    link.reply(b"1")
    link.reply(b"2")
    await asyncio.sleep(0.01)
    assert not third.done()
    grant(link, 1, delivery_count=2)
    assert await third


async def test_a_detach_ends_every_wait_and_answers_for_it_are_dropped() -> None:
    session = FakeSession()
    link = link_of(session)
    grant(link, 1)
    assert await link.turn()
    waiting = asyncio.create_task(link.turn())
    await asyncio.sleep(0)
    link.on_detached()
    assert not await waiting
    link.reply(b"late")
    assert session.sent == []
    assert session.reply_links == {}
    assert not session.closed.done()


async def test_a_drain_waits_for_the_answers_that_were_promised() -> None:
    session = FakeSession()
    link = link_of(session)
    grant(link, 5)
    assert await link.turn()
    grant(link, 5, drain=True)
    assert session.flows == []
    link.reply(b"x")
    assert session.sent == [b"x"]
    assert session.flows[-1]["delivery_count"] == 5
    assert session.flows[-1]["link_credit"] == 0
