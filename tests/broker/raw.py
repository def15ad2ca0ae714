"""A bare AMQP peer, to say what the SDK never would."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from azure.servicebus._pyamqp.utils import generate_sas_token

from devhost.amqp import sasl
from devhost.amqp.framing import (
    AMQP_HEADER,
    SASL_FRAME,
    SASL_HEADER,
    Frame,
    FrameReader,
    Header,
    encode_frame,
)
from devhost.amqp.message import build
from devhost.amqp.performatives import (
    RECEIVER,
    SENDER,
    Attach,
    Begin,
    Flow,
    Open,
    Performative,
    Transfer,
    decode_performative,
    encode_performative,
)
from devhost.amqp.types import Described, ULong
from tests.broker.process import BrokerProcess

_LIMIT = 30.0
P = TypeVar("P", bound=Performative)


@dataclass
class Peer:
    """One connection, frame by frame."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    port: int
    _frames: FrameReader = field(default_factory=lambda: FrameReader(1 << 20))
    _waiting: list[Header | Frame] = field(default_factory=list)

    def write(self, octets: bytes) -> None:
        """Write whatever it is."""
        self.writer.write(octets)

    def send(self, performative: Performative, payload: bytes = b"", channel: int = 0) -> None:
        """Write one performative."""
        self.write(encode_frame(encode_performative(performative) + payload, channel))

    async def item(self) -> Header | Frame:
        """The next header or frame."""
        while not self._waiting:
            data = await asyncio.wait_for(self.reader.read(65536), _LIMIT)
            if not data:
                raise EOFError
            self._waiting += self._frames.feed(data)
        return self._waiting.pop(0)

    async def frame(self) -> tuple[Performative, bytes]:
        """The next performative and its payload; heartbeats are passed over."""
        while True:
            item = await self.item()
            if isinstance(item, Frame) and item.body:
                return decode_performative(item.body)

    async def expect(self, kind: type[P]) -> P:
        """The next performative of a kind; what comes before is passed over."""
        while True:
            performative, _ = await self.frame()
            if isinstance(performative, kind):
                return performative

    async def closed(self) -> None:
        """Wait until the broker has closed the connection."""
        try:
            while await asyncio.wait_for(self.reader.read(65536), _LIMIT):
                pass
        except ConnectionError:
            pass

    async def login(self, **opened: Any) -> None:
        """Headers, SASL, open, and one session on channel 0."""
        init = encode_frame(sasl.encode_sasl(sasl.Init("ANONYMOUS")), kind=SASL_FRAME)
        self.write(SASL_HEADER + init + AMQP_HEADER)
        self.send(Open(container_id="raw", **opened))
        self.send(Begin(next_outgoing_id=0, incoming_window=1000, outgoing_window=1000))
        for _ in range(3):  # SASL header, mechanisms, outcome
            await self.item()
        assert await self.item() == Header(AMQP_HEADER)
        await self.expect(Begin)

    async def authorize(self, queue: str) -> None:
        """Put a token for a queue, on handles 100 and 101."""
        await self.attach(100, SENDER, "$cbs")
        await self.attach(101, RECEIVER, "$cbs")
        audience = f"sb://127.0.0.1:{self.port}/{queue}"
        token = generate_sas_token(  # type: ignore[no-untyped-call]  # the SDK's own, without types
            audience, "RootManageSharedAccessKey", "SAS_KEY_VALUE", int(time.time()) + 600
        )
        request = build(
            properties=["id"],
            application_properties={"operation": "put-token", "type": "jwt", "name": audience},
            value=token,
        )
        self.flow(101, 10)
        self.send(Transfer(handle=100, delivery_id=0, delivery_tag=b"0", settled=True), request)
        await self.expect(Transfer)

    async def attach(self, handle: int, role: bool, address: str) -> Attach:
        """Attach a link and wait for the answer."""
        mine, its = Described(ULong(0x29), ["here"]), Described(ULong(0x28), [address])
        source, target = (its, mine) if role is RECEIVER else (mine, its)
        self.send(
            Attach(
                name=f"link-{handle}",
                handle=handle,
                role=role,
                source=source,
                target=target,
                initial_delivery_count=None if role is RECEIVER else 0,
            )
        )
        return await self.expect(Attach)

    def flow(self, handle: int, credit: int, **more: Any) -> None:
        """Grant credit."""
        self.send(
            Flow(
                next_incoming_id=0,
                incoming_window=1000,
                next_outgoing_id=0,
                outgoing_window=1000,
                handle=handle,
                delivery_count=0,
                link_credit=credit,
                **more,
            )
        )


@asynccontextmanager
async def peer_of(broker: BrokerProcess) -> AsyncIterator[Peer]:
    """A fresh TCP connection."""
    async with peer_at(broker.port) as peer:
        yield peer


@asynccontextmanager
async def peer_at(port: int) -> AsyncIterator[Peer]:
    """A fresh TCP connection to a port of this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Peer(reader, writer, port)
    finally:
        writer.transport.abort()
