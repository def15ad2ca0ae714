"""A client that does everything at once, at random, on two queues, and keeps the books."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from devhost.amqp.message import RawMessage, split
from devhost.amqp.outcomes import (
    Accepted,
    DeliveryState,
    Rejected,
)
from devhost.amqp.types import Array, Long, Timestamp, UInt
from devhost.servicebus.envelope import BATCH_FORMAT
from tests.broker.kills.ledger import Ledger, State
from tests.broker.kills.links import (
    DEAD_REQUEST,
    RECEIVE,
    REQUEST,
    SEND,
    SEND_TAKEN,
    TAKE,
    TAKEN_REQUEST,
    Links,
)
from tests.broker.kills.messages import (
    ABANDON,
    DEAD_LETTER,
    DEFER,
    becomes,
    count_of,
    encoded,
    number_of,
    renewed,
    sequence_of,
)
from tests.broker.raw import Peer

_CREDIT, _TAKE_CREDIT = 12, 4
_UNANSWERED = 30


@dataclass
class Books:
    """What outlives the connections."""

    dice: random.Random
    work: Ledger = field(default_factory=Ledger)
    taken: Ledger = field(default_factory=Ledger)
    numbers: count[int] = field(default_factory=count)
    on_the_way: int = 0
    """Credit out for messages that are deleted as they are sent."""


class Work(Links):
    """One connection's work, until it breaks."""

    def __init__(self, peer: Peer, books: Books) -> None:
        super().__init__(peer)
        self._books = books
        self._dice = books.dice
        self._received = self._took = 0

    async def check(self) -> None:
        """What is there agrees with the books."""
        books = self._books
        found = await self.peek(REQUEST, None) + await self.peek(DEAD_REQUEST, State.DEAD)
        books.work.check(found)
        books.taken.check(await self.peek(TAKEN_REQUEST, None), books.on_the_way)
        books.on_the_way = 0

    async def run(self, enough: asyncio.Event, frames: int) -> None:
        """Read until the connection breaks, and act meanwhile; `enough` is set after that many frames."""
        self._books.on_the_way = _TAKE_CREDIT
        self._settle_what_is_held()
        self.flow(RECEIVE, _CREDIT, 0)
        self.flow(TAKE, _TAKE_CREDIT, 0)
        acting = asyncio.create_task(self._act())
        try:
            for number in count():
                if number == frames:
                    enough.set()
                await self.read()
        except (EOFError, OSError):
            pass
        finally:
            acting.cancel()
            await asyncio.wait([acting])
        if not acting.cancelled():
            acting.result()

    async def _act(self) -> None:
        while not self.peer.writer.is_closing():
            choice = self._dice.random()
            if self.unanswered > _UNANSWERED:
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
        bodies = [encoded(number, self._filler(size)) for number in numbers]

        def answered(outcome: DeliveryState) -> None:
            assert outcome == Accepted()
            ledger.stored(numbers)

        if size > 1:
            batch = b"".join(b"\x00\x53\x75\xb0" + len(body).to_bytes(4) + body for body in bodies)
            self.send(handle, batch, answered, message_format=BATCH_FORMAT)
        else:
            self.send(handle, bodies[0], answered)

    def _filler(self, together: int) -> bytes:
        return b"." * self._dice.choice((10, 100, 4000, 4000 if together > 1 else 50_000))

    def on_taken(self, message: RawMessage) -> None:
        """It is gone from the queue."""
        self._took += 1
        self.flow(TAKE, _TAKE_CREDIT, self._took)
        number = number_of(message)
        self._books.taken.arrive(number)
        assert self._books.taken.entries[number].may, "a deleted message came back"
        self._books.taken.know(number, State.ABSENT)

    def on_locked(self, delivery_id: int, token: uuid.UUID, message: RawMessage) -> None:
        """Settle it in one way or another, or hold it."""
        self._received += 1
        if self._received % (_CREDIT // 2) == 0:
            self.flow(RECEIVE, _CREDIT, self._received)
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
            self.release(delivery_id)
            self.flow(RECEIVE, _CREDIT, self._received)
        else:
            state = self._dice.choice((Accepted(), Accepted(), ABANDON, DEFER, DEAD_LETTER))
            confirm = self._ask(number, state, token, State.ACTIVE)

            def answered(outcome: DeliveryState) -> None:
                assert outcome == (Rejected() if isinstance(state, Rejected) else state)
                confirm()

            self.settle(delivery_id, state, answered)

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
            self.request(REQUEST, "renew-lock", {"lock-tokens": Array(uuid.UUID, (token,))}, renewed)
            self._books.work.entries[number].token = token
            return
        status, state = self._dice.choice(
            (("completed", Accepted()), ("abandoned", ABANDON), ("suspended", DEAD_LETTER))
        )
        confirm = self._ask(number, state, token, at)
        body = {"disposition-status": status, "lock-tokens": Array(uuid.UUID, (token,))}
        self.request(REQUEST, "update-disposition", body, lambda _: confirm())

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
        self.request(REQUEST, "schedule-message", {"messages": messages}, answered)

    def _cancel(self) -> None:
        ledger = self._books.work
        if not (scheduled := ledger.in_state(State.SCHEDULED)):
            return
        number = self._dice.choice(scheduled)
        ledger.ask(number, State.ABSENT)
        sequence = Long(ledger.entries[number].sequence or 0)
        body = {"sequence-numbers": Array(Long, (sequence,))}
        self.request(REQUEST, "cancel-scheduled-message", body, lambda _: ledger.know(number, State.ABSENT))

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
        self.request(REQUEST, "receive-by-sequence-number", asked, answered)
