"""Links on which the peer sends, with a session that notes what it is told to answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from devhost.amqp.message import RawMessage, build
from devhost.amqp.outcomes import Accepted, DeliveryState, Rejected, read_error
from devhost.amqp.performatives import SENDER, Attach, Flow, Transfer
from devhost.servicebus.incoming import EntitySender, RequestLink
from devhost.servicebus.model import Incoming, QueueRef, StorageFaultError
from devhost.servicebus.pressure import Pressure
from devhost.servicebus.session import Session

ATTACH = Attach(name="l", handle=1, role=SENDER, initial_delivery_count=0)
MESSAGE = build(value="x")


@dataclass
class FakeEngine:
    """Stores nothing; fails as told."""

    failure: Exception | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    groups: list[int] = field(default_factory=list)

    async def enqueue(self, _queue: QueueRef, messages: Sequence[Incoming]) -> list[int]:
        self.groups.append(len(messages))
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return [0] * len(messages)


@dataclass
class FakeReplies:
    """The peer's link for answers."""

    got: list[bytes] = field(default_factory=list)
    open: bool = True

    async def turn(self) -> bool:
        return self.open

    def reply(self, payload: bytes) -> None:
        self.got.append(payload)


class FakeSession:
    """What a link sees of its session, connection and broker."""

    def __init__(self) -> None:
        self.connection = self.broker = self
        self.engine = FakeEngine()
        self.pressure = Pressure()
        self.reply_links: dict[str, FakeReplies] = {}
        self.outcomes: list[tuple[int, DeliveryState]] = []
        self.flows: list[dict[str, Any]] = []
        self.tasks: list[asyncio.Task[None]] = []

    def send_outcome(self, delivery_id: int, state: DeliveryState) -> None:
        self.outcomes.append((delivery_id, state))

    def send_flow(self, **flow: Any) -> None:
        self.flows.append(flow)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))

    async def finish(self) -> None:
        self.engine.gate.set()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def sender(session: FakeSession) -> EntitySender:
    return EntitySender(cast("Session", session), ATTACH, QueueRef("q"))


def transfer(number: int, **more: Any) -> Transfer:
    return Transfer(handle=1, delivery_id=number, **more)


def condition(state: DeliveryState) -> str:
    assert isinstance(state, Rejected)
    error = read_error(state.error)
    assert error is not None
    assert error.info
    return error.condition


async def test_nothing_is_accepted_before_it_is_stored_and_what_comes_meanwhile_is_stored_together() -> None:
    session = FakeSession()
    link = sender(session)
    link.on_transfer(transfer(0), MESSAGE)
    await asyncio.sleep(0)
    for number in (1, 2, 3):
        link.on_transfer(transfer(number), MESSAGE)
    await asyncio.sleep(0)
    assert session.outcomes == []
    await session.finish()
    assert session.engine.groups == [1, 3]
    assert session.outcomes == [(number, Accepted()) for number in range(4)]


@pytest.mark.parametrize("failure", [StorageFaultError("disk full"), RuntimeError("a fault of the broker")])
async def test_a_send_that_cannot_be_stored_is_answered_whatever_happened(failure: Exception) -> None:
    session = FakeSession()
    session.engine.failure = failure
    link = sender(session)
    link.on_transfer(transfer(0), MESSAGE)
    await session.finish()
    ((number, state),) = session.outcomes
    assert (number, condition(state)) == (0, "amqp:internal-error")
    session.engine.failure = None
    link.on_transfer(transfer(1), MESSAGE)
    await session.finish()
    assert session.outcomes[1] == (1, Accepted())


async def test_what_the_peer_settled_itself_is_stored_and_not_answered() -> None:
    session = FakeSession()
    link = sender(session)
    link.on_transfer(transfer(0, settled=True), MESSAGE)
    link.on_transfer(transfer(1, settled=True), b"\x00")
    await session.finish()
    assert session.engine.groups == [1]
    assert session.outcomes == []


async def test_credit_is_given_at_once_and_again_before_it_runs_out() -> None:
    session = FakeSession()
    link = sender(session)
    link.start()
    first = session.flows[-1]
    for number in range(first["link_credit"]):
        link.on_transfer(transfer(number, settled=True), MESSAGE)
    last = session.flows[-1]
    assert last["delivery_count"] >= first["link_credit"] // 2
    assert last["link_credit"] == first["link_credit"]
    link.on_flow(Flow(incoming_window=1, next_outgoing_id=1, outgoing_window=1, echo=True))
    assert session.flows[-1]["delivery_count"] == first["link_credit"]
    await session.finish()


async def test_frames_beyond_the_size_limit_are_not_kept() -> None:
    session = FakeSession()
    link = sender(session)
    for _ in range(6):
        link.on_transfer(transfer(5, more=True), b"x" * 100_000)
    link.on_transfer(Transfer(handle=1), b"end")
    ((number, state),) = session.outcomes
    assert (number, condition(state)) == (5, "amqp:link:message-size-exceeded")


async def test_a_delivery_cut_off_by_a_detach_is_forgotten() -> None:
    session = FakeSession()
    link = sender(session)
    link.on_transfer(transfer(0, more=True), MESSAGE)
    link.on_detached()
    await session.finish()
    assert (session.engine.groups, session.outcomes) == ([], [])


async def echo(_request: RawMessage) -> bytes:
    return b"answer"


async def test_a_request_is_accepted_and_its_answer_goes_to_the_node_s_link() -> None:
    session = FakeSession()
    session.reply_links["node"] = replies = FakeReplies()
    link = RequestLink(cast("Session", session), ATTACH, "node", echo)
    link.on_transfer(transfer(3), MESSAGE)
    await session.finish()
    assert session.outcomes == [(3, Accepted())]
    assert replies.got == [b"answer"]


async def test_an_unreadable_request_is_rejected_and_so_is_one_that_could_not_be_answered() -> None:
    session = FakeSession()
    link = RequestLink(cast("Session", session), ATTACH, "node", echo)
    link.on_transfer(transfer(0), b"\x01")
    link.on_transfer(transfer(1), MESSAGE)
    await session.finish()
    assert condition(session.outcomes[0][1]) == "amqp:decode-error"
    assert condition(session.outcomes[1][1]) == "amqp:not-allowed"


async def test_a_request_whose_answer_has_no_turn_is_not_performed() -> None:
    session = FakeSession()
    session.reply_links["node"] = replies = FakeReplies(open=False)
    performed: list[RawMessage] = []

    async def perform(request: RawMessage) -> bytes:
        performed.append(request)
        return b"answer"

    RequestLink(cast("Session", session), ATTACH, "node", perform).on_transfer(transfer(0), MESSAGE)
    await session.finish()
    assert (performed, replies.got) == ([], [])


async def test_requests_wait_while_the_client_does_not_read() -> None:
    session = FakeSession()
    session.reply_links["node"] = replies = FakeReplies()
    link = RequestLink(cast("Session", session), ATTACH, "node", echo)
    session.pressure.pause_writing()
    link.on_transfer(transfer(0), MESSAGE)
    await asyncio.sleep(0.01)
    assert replies.got == []
    session.pressure.resume_writing()
    await session.finish()
    assert replies.got == [b"answer"]
