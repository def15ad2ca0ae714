"""The real bus adapter when the broker is away, frozen, restarted, or refuses."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from shared.adapters.addresses import BusAddress, StorageAddress
from shared.adapters.bus_sender import MessageTooLarge
from shared.adapters.connections import Connections
from shared.adapters.servicebus import ServiceBusQueue
from shared.errors import QueueUnavailable
from tests.broker.process import BrokerProcess, running_broker
from tests.contract.queues import peeked
from tests.support.lossy import black_hole, refusing, relay_to
from tests.support.records import a_message
from tests.support.waiting import in_time

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@asynccontextmanager
async def _bus(broker: BrokerProcess, queue: str, port: int | None = None) -> AsyncIterator[ServiceBusQueue]:
    text = broker.connection_string.replace(f":{broker.port};", f":{port or broker.port};")
    connections = Connections(StorageAddress(), BusAddress(connection_string=text))
    bus = ServiceBusQueue(connections, queue)
    try:
        yield bus
    finally:
        await bus.aclose()
        await connections.aclose()


async def _ids(broker: BrokerProcess, queue: str) -> list[str]:
    connections = Connections(StorageAddress(), BusAddress(connection_string=broker.connection_string))
    try:
        return [str(message.message_id) for message in await peeked(connections, queue)]
    finally:
        await connections.aclose()


async def _sends(broker: BrokerProcess, port: int, count: int) -> list[object]:
    """What so many sends at once and a check come to."""
    async with _bus(broker, "plain-0", port) as bus:
        sends = [bus.send(a_message(f"job_{n}")) for n in range(count)]
        return list(await asyncio.gather(*sends, bus.check(), return_exceptions=True))


async def test_a_broker_that_is_away_fails_every_send_fast(broker: BrokerProcess) -> None:
    with refusing() as port:
        results = await in_time(11, lambda: _sends(broker, port, 20))
    assert {type(result) for result in results} == {QueueUnavailable}
    assert all("127.0.0.1" not in str(result) for result in results)


async def test_a_frozen_broker_fails_every_send_within_the_bound(broker: BrokerProcess) -> None:
    async with black_hole() as port:
        results = await in_time(12, lambda: _sends(broker, port, 200))
    assert {type(result) for result in results} == {QueueUnavailable}


async def test_a_lost_confirmation_is_sent_again_and_arrives_once(broker: BrokerProcess) -> None:
    queue = broker.queue("dup")
    async with relay_to(broker.port) as relay, _bus(broker, queue, relay.port) as bus:
        await bus.send(a_message("job_warm"))
        relay.lose = 1
        await bus.send(a_message())
        assert relay.lost == 1
    assert sorted(await _ids(broker, queue)) == ["job_a:0:0", "job_warm:0:0"]


async def test_sending_goes_on_after_a_restart_of_the_broker(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_broker(tmp_path_factory.mktemp("broker")) as broker:
        queue = broker.queue("dup")
        async with _bus(broker, queue) as bus:
            await bus.send(a_message("job_before"))
            broker.kill()
            with pytest.raises(QueueUnavailable):
                await bus.send(a_message("job_during"))
            broker.start()
            await bus.send(a_message("job_after"))
            ids = await _ids(broker, queue)
    assert {"job_before:0:0", "job_after:0:0"} <= set(ids)


async def test_a_missing_queue_is_our_own_fault_and_told_once(
    broker: BrokerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    async with _bus(broker, "nowhere") as bus:
        for _ in range(2):
            with pytest.raises(QueueUnavailable):
                await bus.send(a_message())
        with pytest.raises(QueueUnavailable):
            await bus.check()
    told = [record for record in caplog.records if record.name == "afterhook.bus"]
    assert len(told) == 1
    assert told[0].levelno == logging.ERROR
    assert "JOBS_QUEUE" in told[0].getMessage()


async def test_a_message_too_large_for_the_queue_fails_alone(broker: BrokerProcess) -> None:
    queue = broker.queue("plain")
    async with _bus(broker, queue) as bus:
        large = bus.send_raw(b"x" * 300_000, {}, message_id="large", at=None)
        others = [bus.send(a_message(f"job_{n}")) for n in range(4)]
        results = await asyncio.gather(large, *others, return_exceptions=True)
        await bus.send(a_message("job_next"))
    assert [type(result) for result in results] == [MessageTooLarge, *[type(None)] * 4]
    assert sorted(await _ids(broker, queue)) == sorted(f"job_{n}:0:0" for n in (0, 1, 2, 3, "next"))


async def test_more_than_one_batch_holds_is_split(broker: BrokerProcess) -> None:
    queue = broker.queue("plain")
    async with _bus(broker, queue) as bus:
        sends = [bus.send_raw(b"x" * 60_000, {}, message_id=f"m{n}", at=None) for n in range(12)]
        await asyncio.gather(*sends)
    assert sorted(await _ids(broker, queue)) == sorted(f"m{n}" for n in range(12))


async def test_a_caller_that_gave_up_leaves_the_others_alone(broker: BrokerProcess) -> None:
    queue = broker.queue("plain")
    async with _bus(broker, queue) as bus:
        sends = [asyncio.create_task(bus.send(a_message(f"job_{n}"))) for n in range(6)]
        await asyncio.sleep(0)
        sends[3].cancel()
        results = await asyncio.gather(*sends, return_exceptions=True)
    assert [type(result) for n, result in enumerate(results) if n != 3] == [type(None)] * 5
    assert isinstance(results[3], asyncio.CancelledError)
    assert {f"job_{n}:0:0" for n in (0, 1, 2, 4, 5)} <= set(await _ids(broker, queue))


async def test_a_send_that_is_cut_by_closing_is_told_so(broker: BrokerProcess) -> None:
    async with black_hole() as port, _bus(broker, "plain-0", port) as bus:
        sends = [asyncio.create_task(bus.send(a_message(f"job_{n}"))) for n in range(3)]
        await asyncio.sleep(0)
        await bus.aclose()
        results = await asyncio.gather(*sends, return_exceptions=True)
        with pytest.raises(QueueUnavailable):
            await bus.send(a_message())
    assert {type(result) for result in results} == {QueueUnavailable}
