"""The broker as a process: its start, its end, and what outlives it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.exceptions import MessageLockLostError

from tests.broker.client import client_of, desk_of
from tests.broker.process import BrokerProcess, refusal, restart_after_kill, running_broker, write_config

pytestmark = pytest.mark.broker


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker this test may kill."""
    with running_broker(tmp_path) as broker:
        yield broker


async def test_a_kill_loses_nothing_that_was_confirmed(own_broker: BrokerProcess) -> None:
    queue = own_broker.queue()
    later = datetime.now(UTC) + timedelta(seconds=4)
    async with desk_of(own_broker, queue=queue) as desk:
        await desk.sender.send_messages([ServiceBusMessage(f"{n}") for n in range(30)])
        await desk.sender.schedule_messages(ServiceBusMessage("scheduled"), later)
        done, dead, deferred = await desk.receive(3)
        await desk.receiver.complete_message(done)
        await desk.receiver.dead_letter_message(dead, reason="r")
        await desk.receiver.defer_message(deferred)
        await restart_after_kill(own_broker)
    async with desk_of(own_broker, queue=queue) as desk:
        got = await desk.receive(28)
        assert {str(m) for m in got} == {"scheduled", *(f"{n}" for n in range(3, 30))}
        (again,) = await desk.receiver.receive_deferred_messages(deferred.sequence_number or 0)
        assert str(again) == "2"
    async with desk_of(own_broker, queue=queue, sub_queue="deadletter") as below:
        assert (await below.one()).dead_letter_reason == "r"


async def test_a_message_in_hand_can_be_settled_after_a_kill_and_is_not_given_to_others(
    own_broker: BrokerProcess,
) -> None:
    queue = own_broker.queue()
    async with desk_of(own_broker, queue=queue) as desk:
        await desk.send("x")
        message = await desk.one()
        await restart_after_kill(own_broker)
        async with desk_of(own_broker, queue=queue) as other:
            await other.assert_empty()
        await desk.receiver.complete_message(message)
        async with desk_of(own_broker, queue=queue) as other:
            message._settled = False
            with pytest.raises(MessageLockLostError):
                await other.receiver.complete_message(message)


async def test_a_sender_and_a_waiting_receiver_live_through_a_planned_restart(
    own_broker: BrokerProcess,
) -> None:
    async with desk_of(own_broker) as desk:
        await desk.send("before")
        waiting = asyncio.create_task(desk.receive(2, wait=30))
        await asyncio.sleep(1)
        assert await asyncio.to_thread(own_broker.stop) == 0
        await asyncio.to_thread(own_broker.start)
        await desk.send("after")
        first, second = await asyncio.gather(waiting, asyncio.sleep(0))
        assert second is None
        assert [str(m) for m in first] == ["before", "after"]


def test_a_taken_port_is_named_with_what_to_do(tmp_path: Path) -> None:
    config = str(write_config(tmp_path / "config.json"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refusal("--config", config, "--data", str(tmp_path / "data"), "--port", port)
    assert f"port {port}" in said
    assert "--port" in said


def test_a_port_that_is_none_is_refused(tmp_path: Path) -> None:
    config = str(write_config(tmp_path / "config.json"))
    assert "port 70000" in refusal("--config", config, "--data", str(tmp_path), "--port", "70000")


@pytest.mark.parametrize(
    ("option", "value"), [("--key-name", "Root&Key"), ("--key-name", ""), ("--key", "a;b"), ("--key", "")]
)
def test_a_key_that_no_client_could_sign_with_is_refused(option: str, value: str, tmp_path: Path) -> None:
    config = str(write_config(tmp_path / "config.json"))
    said = refusal("--config", config, "--data", str(tmp_path), "--port", "0", option, value)
    assert f"{option} " in said


def test_every_problem_of_the_configuration_is_named(tmp_path: Path) -> None:
    queue = {"Name": "q", "Properties": {"LockDuration": "soon", "RequiresSession": True}}
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"UserConfig": {"Namespaces": [{"Name": "n", "Queues": [queue]}]}}))
    said = refusal("--config", str(config), "--data", str(tmp_path), "--port", "0")
    assert "LockDuration" in said
    assert "RequiresSession" in said


def test_a_missing_configuration_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.json")
    assert missing in refusal("--config", missing, "--data", str(tmp_path), "--port", "0")


def test_data_in_use_by_another_broker_is_refused(own_broker: BrokerProcess) -> None:
    config = str(own_broker.folder / "servicebus.json")
    assert "data" in refusal("--config", config, "--data", str(own_broker.folder / "data"), "--port", "0")


async def test_a_stop_is_quick_though_clients_are_connected(own_broker: BrokerProcess) -> None:
    async with (
        client_of(own_broker, retry_total=0) as client,
        client.get_queue_receiver(own_broker.queue()) as receiver,
    ):
        waiting = asyncio.create_task(receiver.receive_messages(1, max_wait_time=2))
        await asyncio.sleep(0.5)
        assert await asyncio.to_thread(own_broker.stop) == 0  # or it is out of the time it has there
        await asyncio.wait([waiting])
        waiting.exception()
