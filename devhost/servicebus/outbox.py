"""Transfers on their way out of a session: cut to the frame size, held back by the session window."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from devhost.amqp.framing import FRAME_HEADER_SIZE, encode_frame
from devhost.amqp.performatives import Transfer, encode_performative
from devhost.servicebus.model import Locked

_UINT = 0xFFFFFFFF


@dataclass(slots=True)
class _Entry:
    handle: int
    frames: deque[bytes]
    locked: Locked | None
    begun: bool = False


class Outbox:
    """Writes transfer frames while the peer's window allows, in order.

    `next_outgoing_id` counts frames, as the standard has it (OASIS AMQP 1.0 part 2, section 2.5.6).
    """

    def __init__(
        self, write: Callable[[bytes], None], channel: int, max_frame_size: int, window: int
    ) -> None:
        self._write = write
        self._channel = channel
        self._max_frame_size = max_frame_size
        self._waiting: deque[_Entry] = deque()
        self.next_outgoing_id = 0
        self.window = window

    @property
    def open(self) -> bool:
        """Whether a transfer would be written at once (its first frame at least)."""
        return not self._waiting and self.window > 0

    def update(self, next_incoming_id: int | None, incoming_window: int) -> None:
        """What the peer says in a flow. Before it saw our begin it cannot know our first id: 0."""
        ahead = ((next_incoming_id or 0) + incoming_window - self.next_outgoing_id) & _UINT
        self.window = ahead if ahead < 1 << 31 else 0
        self._pump()

    def send(self, first: Transfer, payload: bytes, locked: Locked | None = None) -> None:
        """Write a delivery, now or when the window opens."""
        self._waiting.append(_Entry(first.handle, deque(self._frames(first, payload)), locked))
        self._pump()

    def discard(self, handle: int) -> list[Locked]:
        """Forget what waits for a link that is gone; the locked messages of which not a byte was written."""
        mine = [entry for entry in self._waiting if entry.handle == handle]
        self._waiting = deque(entry for entry in self._waiting if entry.handle != handle)
        return [entry.locked for entry in mine if entry.locked is not None and not entry.begun]

    def _pump(self) -> None:
        while self._waiting and self.window > 0:
            entry = self._waiting[0]
            entry.begun = True
            self._write(entry.frames.popleft())
            self.window -= 1
            self.next_outgoing_id = (self.next_outgoing_id + 1) & _UINT
            if not entry.frames:
                self._waiting.popleft()

    def _frames(self, first: Transfer, payload: bytes) -> list[bytes]:
        room = self._max_frame_size - FRAME_HEADER_SIZE
        head = encode_performative(first)
        if len(head) + len(payload) <= room:
            return [encode_frame(head + payload, self._channel)]
        frames = []
        position = 0
        while position < len(payload):
            head = encode_performative(self._part(first, is_first=position == 0, more=True))
            end = position + room - len(head)
            if end >= len(payload):
                head = encode_performative(self._part(first, is_first=False, more=False))
            frames.append(encode_frame(head + payload[position:end], self._channel))
            position = end
        return frames

    @staticmethod
    def _part(first: Transfer, *, is_first: bool, more: bool) -> Transfer:
        return Transfer(
            handle=first.handle,
            delivery_id=first.delivery_id if is_first else None,
            delivery_tag=first.delivery_tag if is_first else None,
            message_format=first.message_format if is_first else None,
            settled=first.settled,
            more=more,
        )
