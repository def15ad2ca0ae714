"""All links of one connection, frame by frame: what the work is done with."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, cast

from devhost.amqp.message import RawMessage, Section, build, split
from devhost.amqp.outcomes import (
    DeliveryState,
    Released,
    describe_state,
    read_state,
)
from devhost.amqp.performatives import RECEIVER, SENDER, Attach, Disposition, Flow, Transfer
from devhost.amqp.types import Described, Int, Long, ULong
from tests.broker.kills.ledger import Found, State
from tests.broker.kills.messages import read_found
from tests.broker.raw import Peer

QUEUE, TAKEN = "work", "taken"
"""One is worked on under locks; from the other, messages are received and deleted."""

SEND, RECEIVE, REQUEST, REPLY, SEND_TAKEN, TAKE, TAKEN_REQUEST, TAKEN_REPLY = range(8)
DEAD_REQUEST, DEAD_REPLY = 8, 9
_FRAME = 65_536

Answer = Callable[[dict[object, object]], None]


class Links(ABC):
    """Sends and asks, and knows what each answer is for."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self._ids = count()
        self._sending: dict[int, Callable[[DeliveryState], None]] = {}
        self._settling: dict[int, Callable[[DeliveryState], None]] = {}
        self._answers: dict[int, Callable[[RawMessage], None]] = {}
        self._parts: dict[int, tuple[Transfer, bytes]] = {}
        self._came = 0

    @abstractmethod
    def on_locked(self, delivery_id: int, token: uuid.UUID, message: RawMessage) -> None:
        """A message came under a lock."""

    @abstractmethod
    def on_taken(self, message: RawMessage) -> None:
        """A message came that is deleted."""

    @property
    def unanswered(self) -> int:
        """How many sends and requests wait for their answers."""
        return len(self._sending) + len(self._answers)

    async def open(self) -> None:
        """Log in and attach all links."""
        peer = self.peer
        await peer.login()
        await peer.authorize("")
        self._came = 1
        await peer.attach(SEND, SENDER, QUEUE)
        await peer.attach(SEND_TAKEN, SENDER, TAKEN)
        await peer.attach(RECEIVE, RECEIVER, QUEUE)
        for request, reply, node in (
            (REQUEST, REPLY, QUEUE),
            (TAKEN_REQUEST, TAKEN_REPLY, TAKEN),
            (DEAD_REQUEST, DEAD_REPLY, f"{QUEUE}/$DeadLetterQueue"),
        ):
            await peer.attach(request, SENDER, f"{node}/$management")
            await peer.attach(reply, RECEIVER, f"{node}/$management")
            self.flow(reply, 100_000, 0)
        peer.send(
            Attach(
                name="take",
                handle=TAKE,
                role=RECEIVER,
                snd_settle_mode=1,
                source=Described(ULong(0x28), [TAKEN]),
                target=Described(ULong(0x29), ["here"]),
            )
        )
        await peer.expect(Attach)

    async def read(self) -> None:
        """Take one frame, and do what it is for."""
        performative, payload = await self.peer.frame()
        match performative:
            case Transfer(handle=handle):
                self._came += 1
                first, before = self._parts.pop(handle, (performative, b""))
                if performative.more:
                    self._parts[handle] = first, before + payload
                else:
                    self._on_transfer(first, split(before + payload))
            case Disposition(first=number, role=role, state=state, settled=settled):
                outcome = read_state(state)
                assert settled
                assert outcome is not None
                (self._sending if role is RECEIVER else self._settling).pop(number)(outcome)
            case Flow():
                pass
            case _:
                raise AssertionError(performative)

    def send(
        self, handle: int, payload: bytes, then: Callable[[DeliveryState], None], *, message_format: int = 0
    ) -> None:
        """One delivery, in frames."""
        self._sending[self._transfer(handle, payload, message_format)] = then

    def settle(self, delivery_id: int, state: DeliveryState, then: Callable[[DeliveryState], None]) -> None:
        """A settlement that is to be confirmed."""
        self._settling[delivery_id] = then
        self._disposition(delivery_id, state, settled=False)

    def release(self, delivery_id: int) -> None:
        """Give a message back; that is not confirmed."""
        self._disposition(delivery_id, Released(), settled=True)

    def request(self, handle: int, operation: str, body: Mapping[str, object], then: Answer) -> None:
        """Ask a management node; `then` gets the body of its answer."""
        number = next(self._ids)

        def answered(message: RawMessage) -> None:
            properties = message.map(Section.APPLICATION_PROPERTIES)
            assert properties["statusCode"] in (200, 204), (operation, properties)
            value = message.value()
            assert isinstance(value, dict)
            then(value)

        self._answers[number] = answered
        request = build(
            properties=[uuid.UUID(int=number)],
            application_properties={"operation": f"com.microsoft:{operation}"},
            value=dict(body),
        )
        self._sending[self._transfer(handle, request, 0)] = lambda _: None

    async def peek(self, request: int, state: State | None) -> list[Found]:
        """Every message of a queue, page by page; `state` for those of a dead-letter queue."""
        found: list[Found] = []
        pages: list[list[dict[str, Any]]] = []
        while not pages or pages[-1]:
            start = found[-1].sequence + 1 if found else 1
            asked = {"from-sequence-number": Long(start), "message-count": Int(1000)}
            came = len(pages)
            self.request(
                request, "peek-message", asked, lambda body: pages.append(cast("Any", body["messages"]))
            )
            while len(pages) == came:
                await self.read()
            found += [read_found(split(item["message"]), state) for item in pages[-1]]
        return found

    def flow(self, handle: int, credit: int, delivery_count: int) -> None:
        """Grant credit, and open the window."""
        self.peer.send(
            Flow(
                next_incoming_id=self._came,
                incoming_window=100_000,
                next_outgoing_id=0,
                outgoing_window=100_000,
                handle=handle,
                delivery_count=delivery_count,
                link_credit=credit,
            )
        )

    def _on_transfer(self, transfer: Transfer, message: RawMessage) -> None:
        match transfer:
            case Transfer(handle=0x1, delivery_id=int(delivery_id), delivery_tag=bytes(tag)):
                self.on_locked(delivery_id, uuid.UUID(bytes_le=tag), message)
            case Transfer(handle=0x5):
                self.on_taken(message)
            case _:
                correlation = message.field(Section.PROPERTIES, 5)
                assert isinstance(correlation, uuid.UUID)
                self._answers.pop(correlation.int)(message)

    def _transfer(self, handle: int, payload: bytes, message_format: int) -> int:
        delivery_id = next(self._ids)
        for start in range(0, len(payload), _FRAME):
            self.peer.send(
                Transfer(
                    handle=handle,
                    delivery_id=delivery_id,
                    delivery_tag=b"t",
                    message_format=message_format,
                    more=start + _FRAME < len(payload),
                ),
                payload[start : start + _FRAME],
            )
        return delivery_id

    def _disposition(self, delivery_id: int, state: DeliveryState, *, settled: bool) -> None:
        self.peer.send(
            Disposition(role=RECEIVER, first=delivery_id, settled=settled, state=describe_state(state))
        )
