"""The contract of MessageBus: the fake, and the real adapter through the SDK on the local broker."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from azure.servicebus import ServiceBusReceivedMessage

from shared.adapters.addresses import BusAddress, StorageAddress
from shared.adapters.connections import Connections
from shared.adapters.servicebus import ServiceBusQueue
from shared.messages import read_message
from shared.ports import MessageBus
from tests.broker.process import BrokerProcess, running_broker
from tests.contract.queues import peeked
from tests.support.fakes import World
from tests.support.records import a_message


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A message in the queue."""

    message_id: str
    body: bytes
    properties: Mapping[str, str | int]
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Queue:
    """The bus under test, and a look into its queue."""

    bus: MessageBus
    messages: Callable[[], Awaitable[list[Seen]]]


pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(params=["fake", "real"])
async def queue(request: pytest.FixtureRequest) -> AsyncIterator[Queue]:
    """The bus on a queue of its own with duplicate detection."""
    if request.param == "fake":
        yield _fake_queue()
        return
    broker: BrokerProcess = request.getfixturevalue("broker")
    connections = Connections(StorageAddress(), BusAddress(connection_string=broker.connection_string))
    name = broker.queue("dup")
    bus = ServiceBusQueue(connections, name)
    try:
        yield Queue(bus, lambda: _messages(connections, name))
    finally:
        await bus.aclose()
        await connections.aclose()


def _fake_queue() -> Queue:
    world = World()

    async def messages() -> list[Seen]:
        return [
            Seen(message_id=sent.message_id, body=sent.body, properties=sent.properties, at=sent.at)
            for sent in world.bus.waiting()
        ]

    return Queue(world.bus, messages)


async def _messages(connections: Connections, name: str) -> list[Seen]:
    return [_seen(message) for message in await peeked(connections, name)]


def _seen(message: ServiceBusReceivedMessage) -> Seen:
    assert message.content_type == "application/json"
    properties = {
        _text(key): value if isinstance(value, int) else _text(value)
        for key, value in (message.application_properties or {}).items()
    }
    return Seen(
        message_id=str(message.message_id),
        body=b"".join(message.body),
        properties=properties,
        at=message.scheduled_enqueue_time_utc,
    )


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


async def test_a_sent_message_can_be_read_back(queue: Queue) -> None:
    job_id = "job_" + "a" * 26
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    message = a_message(job_id, traceparent=trace, turn=7, user_id="ü")
    await queue.bus.send(message)
    (seen,) = await queue.messages()
    assert seen.message_id == f"{job_id}:0:7"
    assert read_message(seen.body, seen.properties) == message


async def test_a_repeat_of_a_turn_is_dropped_and_confirmed(queue: Queue) -> None:
    for _ in range(2):
        await queue.bus.send(a_message())
    assert [seen.message_id for seen in await queue.messages()] == ["job_a:0:0"]


async def test_nudges_of_one_turn_are_kept_apart_by_their_suffixes(queue: Queue) -> None:
    await queue.bus.send(a_message())
    for suffix in ("one", "two", "two"):
        await queue.bus.send(a_message(), suffix=suffix)
    ids = [seen.message_id for seen in await queue.messages()]
    assert sorted(ids) == ["job_a:0:0", "job_a:0:0:one", "job_a:0:0:two"]


async def test_a_delayed_message_carries_its_time(queue: Queue) -> None:
    at = datetime.now(UTC).replace(microsecond=123000) + timedelta(hours=1)
    await queue.bus.send(a_message(), at=at)
    (seen,) = await queue.messages()
    assert seen.at is not None
    assert seen.at.astimezone(UTC) == at


async def test_many_sends_at_once_are_each_confirmed_and_all_arrive(queue: Queue) -> None:
    sends = [queue.bus.send(a_message(f"job_{n}")) for n in range(250)]
    delayed = [
        queue.bus.send(a_message(f"job_{n}"), at=datetime.now(UTC) + timedelta(hours=1), suffix="later")
        for n in range(5)
    ]
    await asyncio.gather(*sends, *delayed)
    ids = {seen.message_id for seen in await queue.messages()}
    assert ids == {f"job_{n}:0:0" for n in range(250)} | {f"job_{n}:0:0:later" for n in range(5)}


async def test_a_raw_message_is_kept_as_it_is(queue: Queue) -> None:
    body = b'{"schema": 2, "new": "\xc3\xa9"}'
    await queue.bus.send_raw(body, {"release": 1, "turn": 2, "other": "x"}, message_id="m-1", at=None)
    (seen,) = await queue.messages()
    assert (seen.message_id, seen.body) == ("m-1", body)
    assert seen.properties == {"release": 1, "turn": 2, "other": "x"}


async def test_a_reachable_queue_passes_the_check(queue: Queue) -> None:
    await queue.bus.check()
    assert await queue.messages() == []


@pytest.mark.parametrize("message_id", ["", "x" * 129])
async def test_an_id_that_the_service_would_refuse_is_refused(queue: Queue, message_id: str) -> None:
    with pytest.raises(ValueError, match="128"):
        await queue.bus.send_raw(b"{}", {}, message_id=message_id, at=None)
