"""When a connection is read and when it is not."""

import asyncio
from typing import cast

import pytest

from devhost.servicebus.pressure import Pressure


class Transport:
    """Notes whether it would be read."""

    reading = True
    closing = False

    def set_write_buffer_limits(self, high: int) -> None:
        assert high > 0

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


@pytest.fixture
def transport() -> Transport:
    return Transport()


@pytest.fixture
async def pressure(transport: Transport) -> Pressure:
    pressure = Pressure()
    pressure.attach(cast("asyncio.Transport", transport))
    return pressure


async def test_reading_stops_while_too_much_waits_for_storage(
    pressure: Pressure, transport: Transport
) -> None:
    pressure.hold(9_000_000)
    assert not transport.reading
    pressure.let_go(5_000_000)
    assert transport.reading


async def test_reading_stops_while_the_client_does_not_read(pressure: Pressure, transport: Transport) -> None:
    pressure.pause_writing()
    assert not transport.reading
    assert not pressure.writable
    waiting = asyncio.create_task(pressure.wait_writable())
    await asyncio.sleep(0)
    assert not waiting.done()
    pressure.resume_writing()
    await waiting
    assert transport.reading


async def test_a_deaf_connection_is_not_read_though_nothing_presses(
    pressure: Pressure, transport: Transport
) -> None:
    pressure.set_deaf(deaf=True)
    pressure.hold(1)
    pressure.let_go(1)
    assert not transport.reading
    pressure.set_deaf(deaf=False)
    assert transport.reading


async def test_a_closing_transport_is_left_alone(pressure: Pressure, transport: Transport) -> None:
    transport.closing = True
    pressure.hold(9_000_000)
    assert transport.reading
