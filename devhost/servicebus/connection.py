"""One client connection: headers, SASL, open, heartbeats, close.

Nothing that arrives on a connection may harm another: every callback turns what goes wrong into a close. That
goes for what is wrong with a session alone, too: the Python SDK waits for ever on one that the broker ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, cast

from devhost.amqp.errors import AmqpError, FramingError, InvalidField
from devhost.amqp.framing import (
    MIN_MAX_FRAME_SIZE,
    SASL_FRAME,
    Frame,
    FrameReader,
    Header,
    encode_frame,
)
from devhost.amqp.performatives import (
    Begin,
    Close,
    End,
    Open,
    Performative,
    decode_performative,
    encode_performative,
)
from devhost.servicebus.afterbeats import Afterbeats
from devhost.servicebus.faults import (
    CONNECTION_FORCED,
    DECODE_ERROR,
    FRAMING_ERROR,
    INVALID_FIELD,
    NOT_ALLOWED,
    FaultError,
    unexpected,
)
from devhost.servicebus.handshake import Handshake
from devhost.servicebus.liveness import Liveness
from devhost.servicebus.pressure import Pressure
from devhost.servicebus.replies import ReplyLink
from devhost.servicebus.sas import Grant
from devhost.servicebus.session import Session

if TYPE_CHECKING:
    from devhost.servicebus.broker import Broker

log = logging.getLogger(__name__)
MAX_FRAME_SIZE = 262_144
IDLE_SECONDS = 240
_CHANNEL_MAX = 63
_HANDSHAKE_SECONDS = 30.0
_CLOSE_SECONDS = 5.0
_UNREADABLE_SECONDS = 0.5  # the peer's own close could not be read


class _State(Enum):
    OPENING = auto()
    OPEN = auto()
    CLOSING = auto()
    CLOSED = auto()


class Connection(asyncio.Protocol):
    """The protocol instance of one accepted socket."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.pressure = Pressure()
        self.peer_max_frame = MIN_MAX_FRAME_SIZE
        self.grants: dict[str, Grant] = {}
        self.reply_links: dict[str, ReplyLink] = {}
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._state = _State.OPENING
        self._handshake = Handshake(self.write)
        self._unreadable = False
        self._reader = FrameReader(MAX_FRAME_SIZE)
        self._sessions: dict[int, Session] = {}
        self._out = bytearray()
        self._liveness = Liveness(lambda: self.write(encode_frame(b"")), self._give_up)
        self.afterbeats = Afterbeats(lambda: self.write(encode_frame(b"")))
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport = cast("asyncio.Transport", transport)
        if not self.broker.capacity.admits(len(self.broker.connections)):
            self.abort()
            return
        self.pressure.attach(self._transport)
        self.broker.connections.add(self)
        self._after(_HANDSHAKE_SECONDS, "handshake", self._check_handshake)

    def connection_lost(self, _exc: Exception | None) -> None:
        """The client is gone: its locks stay until they end."""
        self._state = _State.CLOSED
        self.broker.connections.discard(self)
        self._liveness.stop()
        self.afterbeats.stop()
        self.pressure.resume_writing()
        for timer in self._timers.values():
            timer.cancel()
        for session in self._sessions.values():
            session.abandon()
        self._sessions.clear()
        if not self.closed.done():
            self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._unreadable:
            return
        self._liveness.heard()
        try:
            for item in self._reader.feed(data):
                self._on_item(item)
        except FaultError as fault:
            self.close(fault)
        except FramingError as error:
            self._unreadable = True
            self.close(FaultError(FRAMING_ERROR, f"The stream cannot be read on: {error}."))
        except InvalidField as error:
            self.close(FaultError(INVALID_FIELD, f"{error}."))
        except AmqpError as error:
            self.close(FaultError(DECODE_ERROR, f"{error}."))
        except Exception:
            log.exception("a connection failed")
            self.close(unexpected())

    def pause_writing(self) -> None:
        """The client does not read."""
        self.pressure.pause_writing()

    def resume_writing(self) -> None:
        """The client reads again."""
        self.pressure.resume_writing()
        for session in self._sessions.values():
            session.wake()

    def send(self, performative: Performative, channel: int) -> None:
        """Write one performative."""
        self.write(encode_frame(encode_performative(performative), channel))

    def write(self, octets: bytes) -> None:
        """Write frames; those of one turn of the loop go out together."""
        if self._state is _State.CLOSED or self._transport.is_closing():
            return
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out += octets

    def close(self, fault: FaultError) -> None:
        """Say why and stop; the peer has a moment to answer."""
        if self._state in (_State.CLOSING, _State.CLOSED):
            return
        log.info("closing a connection: %s", fault)
        if self._state is _State.OPEN:
            self.send(Close(error=fault.describe()), 0)
            self._state = _State.CLOSING
            self._after(_UNREADABLE_SECONDS if self._unreadable else _CLOSE_SECONDS, "close", self.abort)
            self._drop_sessions()
        else:
            self._hang_up()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` to its end, whatever becomes of this connection.

        If it fails the peer would wait for its answer in vain: the connection is closed, and it asks again.
        """
        self.broker.spawn(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:
            log.exception("work for a connection failed")
            self.close(unexpected())

    def stop_reading(self) -> None:
        """Take nothing more on; answers to what came before still go out."""
        self.pressure.set_deaf(deaf=True)

    def shut_down(self) -> None:
        """The broker stops. The SDK takes this for a lost connection, and retries."""
        self.close(FaultError(CONNECTION_FORCED, "The broker is shutting down."))
        self.pressure.set_deaf(deaf=False)

    def abort(self) -> None:
        """Let go of the socket at once."""
        self._transport.abort()

    def _flush(self) -> None:
        if self._out:
            octets, self._out = bytes(self._out), bytearray()
            self._liveness.said()
            self._transport.write(octets)

    def _hang_up(self) -> None:
        self._flush()
        self._state = _State.CLOSING
        self._transport.close()
        self._after(_CLOSE_SECONDS, "close", self.abort)  # it may not even read the rest

    def _on_item(self, item: Header | Frame) -> None:
        if self._state in (_State.CLOSING, _State.CLOSED):
            self._while_closing(item)
        elif isinstance(item, Header):
            if not self._handshake.on_header(item.octets):
                self._hang_up()
        elif item.kind == SASL_FRAME:
            if not self._handshake.on_sasl(item.body):
                self._hang_up()
        elif item.body:
            self._on_frame(item)

    def _while_closing(self, item: Header | Frame) -> None:
        if isinstance(item, Frame) and item.body and isinstance(decode_performative(item.body)[0], Close):
            self._hang_up()

    def _on_frame(self, frame: Frame) -> None:
        performative, payload = decode_performative(frame.body)
        match performative:
            case Open():
                self._on_open(performative)
            case Close():
                self.send(Close(), 0)
                self._hang_up()
            case _ if self._state is not _State.OPEN:
                raise FaultError(NOT_ALLOWED, "The connection must be opened first.")
            case Begin():
                self._on_begin(frame.channel, performative)
            case End():
                if (session := self._sessions.pop(frame.channel, None)) is not None:
                    session.end()
            case _:
                self._on_session_frame(frame.channel, performative, payload)

    def _on_open(self, opened: Open) -> None:
        if self._state is not _State.OPENING or not self._handshake.done:
            raise FaultError(NOT_ALLOWED, "An open has no place here.")
        if opened.max_frame_size < MIN_MAX_FRAME_SIZE:
            raise FaultError(INVALID_FIELD, f"max-frame-size must be {MIN_MAX_FRAME_SIZE} or more.")
        self._state = _State.OPEN
        self.peer_max_frame = min(opened.max_frame_size, MAX_FRAME_SIZE)
        self.send(
            Open(
                container_id="local-broker",
                max_frame_size=MAX_FRAME_SIZE,
                channel_max=_CHANNEL_MAX,
                idle_time_out=IDLE_SECONDS * 1000,
            ),
            0,
        )
        self._liveness.start(2 * IDLE_SECONDS, opened.idle_time_out and opened.idle_time_out / 1000)

    def _on_begin(self, channel: int, begin: Begin) -> None:
        if channel > _CHANNEL_MAX or channel in self._sessions:
            raise FaultError(NOT_ALLOWED, f"Channel {channel} is in use or above {_CHANNEL_MAX}.")
        self._sessions[channel] = Session(self, channel, begin)

    def _on_session_frame(self, channel: int, performative: Performative, payload: bytes) -> None:
        session = self._sessions.get(channel)
        if session is None:  # the SDK detaches its management links after it has ended their session
            return
        session.on_performative(performative, payload)

    def _drop_sessions(self) -> None:
        for session in self._sessions.values():
            session.abandon()
        self._sessions.clear()

    def _after(self, seconds: float, purpose: str, act: Callable[[], None]) -> None:
        self._timers[purpose] = self._loop.call_later(seconds, act)

    def _check_handshake(self) -> None:
        if self._state not in (_State.OPEN, _State.CLOSED):
            self.abort()

    def _give_up(self) -> None:
        self.close(FaultError(CONNECTION_FORCED, f"Nothing was heard for {2 * IDLE_SECONDS} s."))
