"""The running broker's time, moved: what takes minutes or days happens at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.exceptions import MessageLockLostError, ServiceBusAuthenticationError

from devhost.faults.clock import BrokerClock
from tests.broker.client import client_of, desk_of
from tests.broker.process import BrokerProcess, refusal, restart_after_kill, running_broker

pytestmark = pytest.mark.broker


@pytest.fixture
def clock(tmp_path: Path) -> BrokerClock:
    return BrokerClock(tmp_path / "clock")


@pytest.fixture
def broker(tmp_path: Path, clock: BrokerClock) -> Iterator[BrokerProcess]:
    """A broker under that clock."""
    with running_broker(tmp_path, "--clock", str(clock.file)) as broker:
        yield broker


async def test_locks_end_and_schedules_come_due_when_time_is_put_forward(
    broker: BrokerProcess, clock: BrokerClock
) -> None:
    """Across a kill, too: the time set holds in the next process."""
    async with desk_of(broker) as desk:
        await desk.send("a")
        await desk.sender.schedule_messages(ServiceBusMessage("b"), datetime.now(UTC) + timedelta(days=3))
        first = await desk.one()
        await asyncio.to_thread(clock.advance, 31)
        with pytest.raises(MessageLockLostError):
            await desk.receiver.complete_message(first)
        again = await desk.one()
        assert again.delivery_count == 1
        await desk.receiver.complete_message(again)
        await asyncio.to_thread(clock.advance, 3 * 86_400, timeout=None)
        await restart_after_kill(broker)
    async with desk_of(broker, queue=desk.queue) as desk:
        assert str(await desk.one()) == "b"


async def test_a_waiting_receiver_gets_what_comes_due(broker: BrokerProcess, clock: BrokerClock) -> None:
    async with desk_of(broker) as desk:
        await desk.sender.schedule_messages(ServiceBusMessage("x"), datetime.now(UTC) + timedelta(hours=1))
        waiting = asyncio.create_task(desk.one())
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await asyncio.to_thread(clock.advance, 3600)
        assert str(await asyncio.wait_for(waiting, 60)) == "x"


async def test_tokens_run_out_by_their_own_offset(broker: BrokerProcess, clock: BrokerClock) -> None:
    async with client_of(broker, retry_total=0) as client:
        async with client.get_queue_sender(broker.queue()) as sender:
            await sender.send_messages(ServiceBusMessage("x"))
        await asyncio.to_thread(clock.advance_tokens, 3700)
        with pytest.raises(ServiceBusAuthenticationError):
            async with client.get_queue_sender(broker.queue()) as sender:
                await sender.send_messages(ServiceBusMessage("x"))
        await asyncio.to_thread(clock.reset)
        async with client.get_queue_sender(broker.queue()) as sender:
            await sender.send_messages(ServiceBusMessage("x"))


def test_a_clock_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with running_broker(tmp_path) as broker:
        config = broker.folder / "servicebus.json"
    file = tmp_path / "clock"
    file.write_text("tomorrow")
    said = refusal(
        *("--config", str(config), "--data", str(tmp_path / "data"), "--port", "0", "--clock", str(file))
    )
    assert str(file) in said
    assert "seconds" in said
