"""The message bus in memory: delays, and drops repeated message ids as the broker's detection does."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.errors import QueueUnavailable
from shared.messages import JobMessage, read_message
from shared.ports import Clock
from tests.support.fakes.faults import Faults

MAX_ID = 128
DUPLICATE_WINDOW = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One send as the broker took it; `dropped` when duplicate detection kept it from the queue."""

    message_id: str
    body: bytes
    properties: Mapping[str, str | int]
    at: datetime | None
    suffix: str | None
    sent_at: datetime
    dropped: bool

    @property
    def message(self) -> JobMessage:
        """The message read back from its bytes."""
        return read_message(self.body, self.properties)


class FakeBus(Faults):
    """`sent` has every confirmed send in order; `take_due` delivers what is due, once."""

    unavailable = QueueUnavailable

    def __init__(self, clock: Clock, duplicate_window: timedelta = DUPLICATE_WINDOW) -> None:
        super().__init__()
        self._clock = clock
        self._window = duplicate_window
        self._seen: dict[str, datetime] = {}
        self._waiting: list[Sent] = []
        self.sent: list[Sent] = []

    async def send(
        self, message: JobMessage, *, at: datetime | None = None, suffix: str | None = None
    ) -> None:
        message_id = message.message_id if suffix is None else f"{message.message_id}:{suffix}"
        async with self._call("send"):
            self._accept(message.body(), message.properties(), message_id, at, suffix)

    async def send_raw(
        self, body: bytes, properties: Mapping[str, str | int], *, message_id: str, at: datetime | None
    ) -> None:
        if not 0 < len(message_id) <= MAX_ID:
            raise ValueError(f"A message id has 1 to {MAX_ID} characters.")
        async with self._call("send_raw"):
            self._accept(body, properties, message_id, at, None)

    async def check(self) -> None:
        async with self._call("check"):
            pass

    def accepted(self) -> list[Sent]:
        """The sends that duplicate detection let through, in order, delivered or not."""
        return [sent for sent in self.sent if not sent.dropped]

    def waiting(self) -> list[Sent]:
        """What is in the queue, due or delayed, in the order of sending."""
        return list(self._waiting)

    def take_due(self) -> list[Sent]:
        """Remove and return what is due by now, earliest first."""
        now = self._clock.now()
        due = sorted((sent for sent in self._waiting if _due_at(sent) <= now), key=_due_at)
        self._waiting = [sent for sent in self._waiting if _due_at(sent) > now]
        return due

    def _accept(
        self,
        body: bytes,
        properties: Mapping[str, str | int],
        message_id: str,
        at: datetime | None,
        suffix: str | None,
    ) -> None:
        now = self._clock.now()
        seen = self._seen.get(message_id)
        sent = Sent(
            message_id=message_id,
            body=body,
            properties=json.loads(json.dumps(dict(properties))),
            at=at,
            suffix=suffix,
            sent_at=now,
            dropped=seen is not None and now - seen < self._window,
        )
        self.sent.append(sent)
        if not sent.dropped:
            self._seen[message_id] = now
            self._waiting.append(sent)


def _due_at(sent: Sent) -> datetime:
    return max(sent.sent_at, sent.at) if sent.at is not None else sent.sent_at
