"""A client that does everything at once, at random, on two queues, and keeps the books."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from devhost.amqp.encoder import encode
from devhost.amqp.message import RawMessage, Section, build, split
from devhost.amqp.outcomes import (
    Accepted,
    DeliveryState,
    Error,
    Modified,
    Rejected,
    Released,
    describe_error,
    describe_state,
    read_state,
)
from devhost.amqp.performatives import RECEIVER, SENDER, Attach, Disposition, Flow, Transfer
from devhost.amqp.types import Array, Described, Int, Long, Symbol, Timestamp, UInt, ULong
from devhost.servicebus.envelope import BATCH_FORMAT
from tests.broker.kills.ledger import MAX_DELIVERIES, Found, Ledger, State
from tests.broker.raw import Peer

QUEUE, TAKEN = "work", "taken"
"""One is worked on under locks; from the other, messages are received and deleted."""

SEND, RECEIVE, REQUEST, REPLY, SEND_TAKEN, TAKE, TAKEN_REQUEST, TAKEN_REPLY = range(8)
DEAD_REQUEST, DEAD_REPLY = 8, 9
_CREDIT, _TAKE_CREDIT = 12, 4
_UNANSWERED = 30
_FRAME = 65_536
_STATES = {0: State.ACTIVE, 1: State.DEFERRED, 2: State.SCHEDULED}

Answer = Callable[[dict[object, object]], None]
ABANDON = Modified(delivery_failed=True)
DEFER = Modified(delivery_failed=True, undeliverable_here=True)
DEAD_LETTER = Rejected(describe_error(Error("com.microsoft:dead-letter", "said", {"DeadLetterReason": "r"})))


@dataclass
class Books:
    """What outlives the connections."""

    dice: random.Random
    work: Ledger = field(default_factory=Ledger)
    taken: Ledger = field(default_factory=Ledger)
    numbers: count[int] = field(default_factory=count)
    on_the_way: int = 0
    """Credit out for messages that are deleted as they are sent."""


class Work:
    """One connection's work, until it breaks."""

    def __init__(self, peer: Peer, books: Books) -> None:
        self._peer = peer
        self._books = books
        self._dice = books.dice
        self._ids = count()
        self._outcomes: dict[int, Callable[[DeliveryState], None]] = {}
        self._settling: dict[int, Callable[[DeliveryState], None]] = {}
        self._answers: dict[int, Callable[[RawMessage], None]] = {}
        self._came = self._received = self._took = 0
        self._parts: dict[int, tuple[Transfer, bytes]] = {}

    async def open(self) -> None:
        """Log in and attach all links."""
        peer = self._peer
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
            self._flow(reply, 100_000, 0)
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

    async def check(self) -> None:
        """What is there agrees with the books."""
        books = self._books
        found = await self._peek(REQUEST, None) + await self._peek(DEAD_REQUEST, State.DEAD)
        books.work.check(found)
        books.taken.check(await self._peek(TAKEN_REQUEST, None), books.on_the_way)
        books.on_the_way = 0

    async def run(self, enough: asyncio.Event, frames: int) -> None:
        """Read until the connection breaks, and act meanwhile; `enough` is set after that many frames."""
        self._books.on_the_way = _TAKE_CREDIT
        self._settle_what_is_held()
        self._flow(RECEIVE, _CREDIT, 0)
        self._flow(TAKE, _TAKE_CREDIT, 0)
        acting = asyncio.create_task(self._act())
        try:
            for number in count():
                if number == frames:
                    enough.set()
                await self._read()
        except (EOFError, OSError):
            pass
        finally:
            acting.cancel()
            await asyncio.wait([acting])
        if not acting.cancelled():
            acting.result()

    async def _read(self) -> None:
        performative, payload = await self._peer.frame()
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
                (self._outcomes if role is RECEIVER else self._settling).pop(number)(outcome)
            case Flow():
                pass
            case _:
                raise AssertionError(performative)

    def _on_transfer(self, transfer: Transfer, message: RawMessage) -> None:
        match transfer:
            case Transfer(handle=0x1, delivery_id=int(delivery_id), delivery_tag=bytes(tag)):
                self._received += 1
                if self._received % (_CREDIT // 2) == 0:
                    self._flow(RECEIVE, _CREDIT, self._received)
                self._on_locked(delivery_id, uuid.UUID(bytes_le=tag), message)
            case Transfer(handle=0x5):
                self._took += 1
                self._flow(TAKE, _TAKE_CREDIT, self._took)
                number = number_of(message)
                self._books.taken.arrive(number)
                assert self._books.taken.entries[number].may, "a deleted message came back"
                self._books.taken.know(number, State.ABSENT)
            case _:
                correlation = message.field(Section.PROPERTIES, 5)
                assert isinstance(correlation, uuid.UUID)
                self._answers.pop(correlation.int)(message)

    async def _act(self) -> None:
        while not self._peer.writer.is_closing():
            choice = self._dice.random()
            if len(self._outcomes) + len(self._answers) > _UNANSWERED:
                await asyncio.sleep(0.001)
            elif choice < 0.5:
                self._send(SEND, self._books.work, self._dice.choices((1, 2, 5, 60), (20, 5, 4, 1))[0])
            elif choice < 0.65:
                self._send(SEND_TAKEN, self._books.taken, self._dice.randint(1, 5))
            elif choice < 0.8:
                self._schedule()
            elif choice < 0.9:
                self._cancel()
            else:
                self._fetch_deferred()
            await asyncio.sleep(0)

    def _send(self, handle: int, ledger: Ledger, size: int) -> None:
        numbers = [next(self._books.numbers) for _ in range(size)]
        for number in numbers:
            ledger.ask(number, State.ACTIVE)
            ledger.entries[number].sent = True
        if ledger is self._books.work and size > 1:
            ledger.batches.append(numbers)
        bodies = [encoded(number, self._filler()) for number in numbers]
        if size > 1:
            payload = b"".join(b"\x00\x53\x75\xb0" + len(body).to_bytes(4) + body for body in bodies)
            delivery_id = self._transfer(handle, payload, message_format=BATCH_FORMAT)
        else:
            delivery_id = self._transfer(handle, bodies[0])

        def answered(outcome: DeliveryState) -> None:
            assert outcome == Accepted()
            ledger.stored(numbers)

        self._outcomes[delivery_id] = answered

    def _transfer(self, handle: int, payload: bytes, message_format: int = 0) -> int:
        delivery_id = next(self._ids)
        for start in range(0, len(payload), _FRAME):
            self._peer.send(
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

    def _filler(self) -> bytes:
        return b"." * self._dice.choice((10, 10, 100, 1000, 4000))

    def _on_locked(self, delivery_id: int, token: uuid.UUID, message: RawMessage) -> None:
        number, ledger = number_of(message), self._books.work
        entry = ledger.arrive(number)
        assert entry.token is None, f"message {number} is locked, and was given away"
        assert entry.may == {State.ACTIVE}, f"message {number} came, but may be {entry.may}"
        failed = count_of(message)
        assert failed in entry.counts
        entry.counts = {failed}
        entry.sequence = sequence_of(message)
        choice = self._dice.random()
        if choice < 0.1:
            entry.token = token
        elif choice < 0.15:
            self._disposition(delivery_id, Released(), settled=True)
            self._flow(RECEIVE, _CREDIT, self._received)
        else:
            state = self._dice.choice((Accepted(), Accepted(), ABANDON, DEFER, DEAD_LETTER))
            confirm = self._ask(number, state, token, State.ACTIVE)

            def answered(outcome: DeliveryState) -> None:
                assert outcome == (Rejected() if isinstance(state, Rejected) else state)
                confirm()

            self._settling[delivery_id] = answered
            self._disposition(delivery_id, state, settled=False)

    def _ask(self, number: int, state: DeliveryState, token: uuid.UUID, at: State) -> Callable[[], None]:
        """Enter what may become of a message that is settled; call the result when it is confirmed.

        A lock must outlive a kill unless its message was settled; after an abandon that cannot be seen.
        """
        ledger = self._books.work
        entry = ledger.entries[number]
        failed = ledger.count(number)
        then, after = becomes(state, at, failed)
        entry.token, entry.away = (None, at is State.DEFERRED) if state == ABANDON else (token, False)
        entry.settled_as, deliveries = then, entry.deliveries
        ledger.ask(number, then, counts=[after])

        def confirm() -> None:
            if entry.deliveries > deliveries:  # given back, it came again before the answer did
                return
            entry.token, entry.settled_as, entry.away = None, None, False
            ledger.know(number, then, after)

        return confirm

    def _disposition(self, delivery_id: int, state: DeliveryState, *, settled: bool) -> None:
        self._peer.send(
            Disposition(role=RECEIVER, first=delivery_id, settled=settled, state=describe_state(state))
        )

    def _settle_what_is_held(self) -> None:
        """With the tokens that an earlier process gave."""
        ledger = self._books.work
        held = [number for number, entry in ledger.entries.items() if entry.token is not None]
        for number in self._dice.sample(held, min(len(held), 6)):
            entry = ledger.entries[number]
            assert entry.token is not None
            (at,) = entry.may
            self._settle_by_token(number, entry.token, at)

    def _settle_by_token(self, number: int, token: uuid.UUID, at: State) -> None:
        if self._dice.random() < 0.3:
            self._request(REQUEST, "renew-lock", {"lock-tokens": Array(uuid.UUID, (token,))}, renewed)
            self._books.work.entries[number].token = token
            return
        status, state = self._dice.choice(
            (("completed", Accepted()), ("abandoned", ABANDON), ("suspended", DEAD_LETTER))
        )
        confirm = self._ask(number, state, token, at)
        body = {"disposition-status": status, "lock-tokens": Array(uuid.UUID, (token,))}
        self._request(REQUEST, "update-disposition", body, lambda _: confirm())

    def _schedule(self) -> None:
        ledger = self._books.work
        numbers = [next(self._books.numbers) for _ in range(self._dice.randint(1, 3))]
        for number in numbers:
            ledger.ask(number, State.SCHEDULED)

        def answered(body: dict[object, object]) -> None:
            sequences = body["sequence-numbers"]
            assert isinstance(sequences, Array)
            for number, sequence in zip(numbers, sequences.items, strict=True):
                assert isinstance(sequence, int)
                ledger.know(number, State.SCHEDULED)
                ledger.entries[number].sequence = int(sequence)

        later = Timestamp(round((time.time() + 3600) * 1000))
        messages = [{"message": encoded(number, b"", later)} for number in numbers]
        self._request(REQUEST, "schedule-message", {"messages": messages}, answered)

    def _cancel(self) -> None:
        ledger = self._books.work
        if not (scheduled := ledger.in_state(State.SCHEDULED)):
            return
        number = self._dice.choice(scheduled)
        ledger.ask(number, State.ABSENT)
        sequence = Long(ledger.entries[number].sequence or 0)
        body = {"sequence-numbers": Array(Long, (sequence,))}
        self._request(REQUEST, "cancel-scheduled-message", body, lambda _: ledger.know(number, State.ABSENT))

    def _fetch_deferred(self) -> None:
        ledger = self._books.work
        if not (deferred := ledger.in_state(State.DEFERRED)):
            return
        number = self._dice.choice(deferred)
        entry = ledger.entries[number]
        entry.away = True

        def answered(body: dict[object, object]) -> None:
            entry.away = False
            (found,) = cast("list[dict[str, Any]]", body["messages"])
            assert number_of(split(found["message"])) == number
            entry.token = found["lock-token"]
            if self._dice.random() < 0.7:
                self._settle_by_token(number, found["lock-token"], State.DEFERRED)

        sequence = Long(entry.sequence or 0)
        asked = {"sequence-numbers": Array(Long, (sequence,)), "receiver-settle-mode": UInt(1)}
        self._request(REQUEST, "receive-by-sequence-number", asked, answered)

    async def _peek(self, request: int, state: State | None) -> list[Found]:
        found: list[Found] = []
        pages: list[list[dict[str, Any]]] = []
        while not pages or pages[-1]:
            start = found[-1].sequence + 1 if found else 1
            asked = {"from-sequence-number": Long(start), "message-count": Int(1000)}
            came = len(pages)
            self._request(
                request, "peek-message", asked, lambda body: pages.append(cast("Any", body["messages"]))
            )
            while len(pages) == came:
                await self._read()
            found += [read_found(split(item["message"]), state) for item in pages[-1]]
        return found

    def _request(self, handle: int, operation: str, body: Mapping[str, object], then: Answer) -> None:
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
        self._outcomes[self._transfer(handle, request)] = lambda _: None

    def _flow(self, handle: int, credit: int, delivery_count: int) -> None:
        self._peer.send(
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


def becomes(state: DeliveryState, at: State, failed: int) -> tuple[State, int]:
    """Where a settlement brings a message, and its count of failed deliveries then."""
    if state == Accepted():
        return State.ABSENT, failed
    if state == ABANDON:
        return (State.DEAD if failed + 1 >= MAX_DELIVERIES else at), failed + 1
    if state == DEFER:
        return State.DEFERRED, failed + 1
    return State.DEAD, failed


def encoded(number: int, filler: bytes, scheduled: Timestamp | None = None) -> bytes:
    """A message that says its number, and is of some size."""
    annotations = b""
    if scheduled is not None:
        content = {Symbol("x-opt-scheduled-enqueue-time"): scheduled}
        annotations = encode(Described(ULong(Section.MESSAGE_ANNOTATIONS), content))
    return annotations + build(value=f"{number} {filler.decode()}")


def number_of(message: RawMessage) -> int:
    """The number in a message."""
    return int(str(message.value()).split()[0])


def sequence_of(message: RawMessage) -> int:
    """Its sequence number."""
    found = message.map(Section.MESSAGE_ANNOTATIONS)["x-opt-sequence-number"]
    assert isinstance(found, int)
    return int(found)


def count_of(message: RawMessage) -> int:
    """How many deliveries of it failed."""
    found = message.field(Section.HEADER, 4)
    assert isinstance(found, int)
    return int(found)


def read_found(message: RawMessage, state: State | None) -> Found:
    """A peeked message; `state` for those of a dead-letter queue."""
    told = message.map(Section.MESSAGE_ANNOTATIONS).get("x-opt-message-state", 0)
    assert isinstance(told, int)
    return Found(number_of(message), state or _STATES[told], sequence_of(message), count_of(message))


def renewed(body: dict[object, object]) -> None:
    """A lock was extended."""
    assert body["expirations"]
