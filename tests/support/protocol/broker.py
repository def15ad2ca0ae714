"""A model of the broker: peek-lock, delivery count, dead-letter queue, lock expiry, expired messages.

What is sent goes through the fake bus first, which delays it and drops repeated message ids.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.support.fakes import FakeBus, FakeClock

MAX_DELIVERIES = 5
LOCK = timedelta(seconds=60)


@dataclass(eq=False, slots=True)
class Held:
    """A message in a queue; `lock` is the number of the delivery that holds it."""

    sequence_number: int
    message_id: str
    body: bytes
    properties: Mapping[str, str | int]
    dead: bool = False
    deliveries: int = 0
    lock: int | None = None
    locked_until: datetime | None = None


@dataclass(slots=True)
class ModelBroker:
    bus: FakeBus
    clock: FakeClock
    held: list[Held] = field(default_factory=list)
    _numbers: int = 0
    _locks: int = 0

    def take_in(self) -> None:
        """What became due enters the queue; locks that ran out are let go."""
        for sent in self.bus.take_due():
            self._numbers += 1
            self.held.append(Held(self._numbers, sent.message_id, sent.body, sent.properties))
        now = self.clock.now()
        for message in self.held:
            if message.locked_until is not None and message.locked_until <= now:
                self.let_go(message)

    def next_due(self) -> list[datetime]:
        """When messages come that are not ready yet: their time comes, or a lock runs out."""
        held = [message.locked_until for message in self.held if message.locked_until is not None]
        return held + [sent.at for sent in self.bus.waiting() if sent.at is not None]

    def ready(self, *, dead: bool) -> list[Held]:
        return [message for message in self.held if message.dead is dead and message.lock is None]

    def deliver(self, message: Held) -> int:
        """Lock the message; the delivery's number settles it."""
        assert message.lock is None
        self._locks += 1
        message.deliveries += 1
        message.lock = self._locks
        message.locked_until = self.clock.now() + LOCK
        return self._locks

    def renew(self, message: Held, lock: int) -> None:
        if message.lock == lock:
            message.locked_until = self.clock.now() + LOCK

    def complete(self, message: Held, lock: int) -> None:
        """Without the lock it does nothing: the message is delivered again."""
        if message.lock == lock:
            self.held.remove(message)

    def abandon(self, message: Held, lock: int) -> None:
        if message.lock == lock:
            self.let_go(message)

    def let_go(self, message: Held) -> None:
        message.lock = message.locked_until = None
        if message.deliveries >= MAX_DELIVERIES and not message.dead:
            self._bury(message, "MaxDeliveryCountExceeded")

    def expire(self, message: Held) -> None:
        """The message outlived its time to live."""
        assert message.lock is None
        assert not message.dead
        self._bury(message, "TTLExpiredException")

    def copy(self, message: Held) -> None:
        """A second copy, as a sender makes it that lost the answer after the detection window."""
        self._numbers += 1
        self.held.append(Held(self._numbers, message.message_id, message.body, message.properties))

    def _bury(self, message: Held, reason: str) -> None:
        message.dead = True
        message.properties = {**message.properties, "DeadLetterReason": reason}

    @property
    def empty(self) -> bool:
        return not self.held and not self.bus.waiting()
