"""A queue link on a real broker: its requests wear it out, and its connection breaks or falls silent."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusReceivedMessage

from devhost.faults.proxy import Proxy
from devhost.functions import service_bus_link
from devhost.functions.service_bus_link import QueueAddress, QueueLink
from devhost.functions.service_bus_management import BROKEN
from tests.host.broker import QUEUE, BrokerProcess, running_broker
from tests.host.harness import PATIENCE_SECONDS

pytestmark = [pytest.mark.host, pytest.mark.broker]
FOR_EVER = timedelta(seconds=-1)


_LOCK_SECONDS = 300


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path / "broker", lock_duration=f"PT{_LOCK_SECONDS}S") as running:
        yield running


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that renews a lock five times a second instead of at the half of its time."""
    comes_within = service_bus_link._comes_within

    async def comes_soon(event: asyncio.Event, seconds: float) -> bool:
        return await comes_within(event, min(seconds, 0.2))

    monkeypatch.setattr(service_bus_link, "_comes_within", comes_soon)


@asynccontextmanager
async def open_link(broker: BrokerProcess, port: int | None = None) -> AsyncIterator[QueueLink]:
    """A link, perhaps through another port."""
    text = broker.connection_string.replace(f":{broker.port};", f":{port or broker.port};")
    link = QueueLink(QueueAddress(text, QUEUE, dead_letters=False))
    try:
        await link.open()
        yield link
    finally:
        await link.close()


async def one(link: QueueLink) -> ServiceBusReceivedMessage:
    """The next message."""
    for _ in range(20):
        if (message := await link.receive()) is not None:
            return message
    raise AssertionError("no message came")


async def outlive_its_lock(broker: BrokerProcess, message: ServiceBusReceivedMessage) -> None:
    """Put the broker's time forward past the end of the message's lock, with renewals on the way."""
    for _ in range(3):
        await asyncio.to_thread(partial(broker.clock.advance, _LOCK_SECONDS * 0.6, timeout=PATIENCE_SECONDS))
        before = message.locked_until_utc
        async with asyncio.timeout(PATIENCE_SECONDS):
            while message.locked_until_utc == before:  # noqa: ASYNC110  a renewal sets no event
                await asyncio.sleep(0.02)


@pytest.mark.usefixtures("impatient")
async def test_a_lock_is_kept_while_links_wear_out_and_its_message_is_settled_at_last(
    broker: BrokerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_bus_link, "_REQUESTS_A_LINK", 1)
    await asyncio.to_thread(broker.send, b"x")
    async with open_link(broker) as link:
        message = await one(link)
        fresh = link.broken
        done = asyncio.Event()
        renewing = asyncio.create_task(link.renew_until(message, done, FOR_EVER))
        await outlive_its_lock(broker, message)
        done.set()
        await renewing
        assert (fresh, link.broken) == (False, True)  # it takes no further message
        await link.complete(message)
    await asyncio.to_thread(broker.wait_for_count, 0)


@pytest.mark.usefixtures("impatient")
async def test_a_lock_outlives_the_connection_it_was_taken_on(
    broker: BrokerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    await asyncio.to_thread(broker.send, b"x")
    with Proxy(broker.port) as proxy:
        async with open_link(broker, proxy.port) as link:
            message = await one(link)
            done = asyncio.Event()
            renewing = asyncio.create_task(link.renew_until(message, done, FOR_EVER))
            await asyncio.to_thread(proxy.cut)
            await outlive_its_lock(broker, message)
            done.set()
            await renewing
            await link.abandon(message)
    assert "event=lock_lost" not in caplog.text
    assert "event=abandon_failed" not in caplog.text
    async with open_link(broker) as link:
        again = await one(link)
        assert again.delivery_count == 1
        await link.complete(again)
    await asyncio.to_thread(broker.wait_for_count, 0)


async def test_a_message_is_settled_once_the_broker_can_be_reached_again(broker: BrokerProcess) -> None:
    await asyncio.to_thread(broker.send, b"x")
    with Proxy(broker.port) as proxy:
        async with open_link(broker, proxy.port) as link:
            message = await one(link)
            await asyncio.to_thread(proxy.cut)
            await asyncio.to_thread(proxy.refuse)
            completing = asyncio.create_task(link.complete(message))
            await asyncio.sleep(1)
            assert not completing.done()
            await asyncio.to_thread(proxy.heal)
            await completing
    await asyncio.to_thread(broker.wait_for_count, 0)


async def test_every_call_ends_when_the_broker_falls_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it waits for a message, settles or opens: the connection stands, and nothing is answered."""
    with running_broker(tmp_path / "broker", lock_duration="PT8S") as broker, Proxy(broker.port) as proxy:
        await asyncio.to_thread(broker.send, b"x", b"y")
        async with open_link(broker, proxy.port) as waiting, open_link(broker, proxy.port) as settling:
            await waiting.complete(await one(waiting))
            message = await one(settling)
            monkeypatch.setattr(service_bus_link, "_POLLS_A_PROBE", 1)
            await asyncio.to_thread(proxy.black_hole)

            async def open_another() -> None:
                async with open_link(broker, proxy.port):
                    pass

            calls = [waiting.receive(), settling.complete(message), open_another()]
            ends = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 150)
        await asyncio.to_thread(broker.wait_for_count, 1)
    assert isinstance(ends[0], BROKEN)
    assert ends[1] is None  # a lock that could not be given back is only logged
    assert isinstance(ends[2], BROKEN)


async def test_a_wrong_key_is_an_error_and_no_wait(broker: BrokerProcess) -> None:
    text = broker.connection_string.replace("SAS_KEY_VALUE", "ANOTHER")
    address = replace(QueueAddress("", QUEUE, dead_letters=False), connection_string=text)
    link = QueueLink(address)
    with pytest.raises(BROKEN):
        await asyncio.wait_for(link.open(), PATIENCE_SECONDS)
    await link.close()
