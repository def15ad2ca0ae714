"""Links on which the broker sends a node's answers.

The Python SDK gives its links 10,000 credits for answers once, never more, and waits for an answer for
ever. So whoever gives no credit for long is cut off: the SDK then connects again and repeats its request.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from typing import TYPE_CHECKING

from devhost.amqp.performatives import Attach
from devhost.servicebus.faults import CONNECTION_FORCED, FaultError
from devhost.servicebus.outgoing import OutgoingLink

if TYPE_CHECKING:
    from devhost.servicebus.session import Session

PATIENCE = 5.0
"""Seconds that a request or an answer waits for credit."""


class ReplyLink(OutgoingLink):
    """Answers, as credit allows. A request waits for its turn: it is performed once its answer has credit.

    A request that was performed and not answered would be repeated: messages scheduled twice, for one.
    """

    def __init__(self, session: Session, attach: Attach, node: str) -> None:
        super().__init__(session, attach)
        self._node = node
        self._promised = 0
        self._turns: deque[asyncio.Future[None]] = deque()
        self._waiting: deque[tuple[bytes, asyncio.TimerHandle]] = deque()

    def start(self) -> None:
        """Answers of the node to this connection now come here."""
        self._session.connection.reply_links[self._node] = self

    async def turn(self) -> bool:
        """Wait until one more answer may be promised. False: there will be none, the link is gone."""
        turn = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        self._admit()
        if not turn.done():
            await asyncio.wait([turn], timeout=PATIENCE)
        if not turn.done():
            self._give_up()
            return False
        return not self.detached

    def reply(self, payload: bytes) -> None:
        """Send the answer that was promised: now, unless its credit was taken back."""
        self._promised = max(self._promised - 1, 0)
        if self.detached:
            return
        if self._waiting or self._credit <= 0:
            timer = asyncio.get_running_loop().call_later(PATIENCE, self._give_up)
            self._waiting.append((payload, timer))
        else:
            self._write(payload)
        self.on_credit()

    def on_credit(self) -> None:
        """Send what waits."""
        while self._waiting and self._credit > 0 and not self.detached:
            payload, timer = self._waiting.popleft()
            timer.cancel()
            self._write(payload)
        self._admit()
        if self._drain and not self._waiting and not self._promised:
            self._drained()

    def on_detached(self) -> None:
        """Answers have nowhere to go any more."""
        super().on_detached()
        links = self._session.connection.reply_links
        if links.get(self._node) is self:
            del links[self._node]
        for _, timer in self._waiting:
            timer.cancel()
        self._waiting.clear()
        while self._turns:
            self._turns.popleft().set_result(None)

    def _write(self, payload: bytes) -> None:
        self._spend()
        self._session.send_settled(self.handle, payload, uuid.uuid4().bytes_le)
        if self._node != "$cbs":  # a client logs in with one thread
            self._session.connection.afterbeats.answered()

    def _admit(self) -> None:
        while self._turns and self._credit > self._promised + len(self._waiting):
            self._promised += 1
            self._turns.popleft().set_result(None)

    def _give_up(self) -> None:
        fault = FaultError(
            CONNECTION_FORCED,
            f"An answer of {self._node} waited {PATIENCE:g} s for link credit. Connect again, and ask again.",
        )
        self._session.connection.close(fault)
