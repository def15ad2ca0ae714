"""No room on the disk, or a damaged database: refused clearly, and nothing confirmed that is not stored."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusMessage
from azure.servicebus.exceptions import ServiceBusQuotaExceededError, ServiceBusServerBusyError

from devhost.servicebus.__main__ import main
from devhost.servicebus.database import FILE_NAME
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import QueuePolicy
from tests.broker.client import Desk, client_of
from tests.broker.process import BrokerProcess, running_broker, write_config

pytestmark = [
    pytest.mark.broker,
    pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits another process, as Linux can"),
]
TOMORROW = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path_factory.mktemp("full")) as broker:
        yield broker


@contextmanager
def no_room(broker: BrokerProcess) -> Iterator[None]:
    """No file of the broker can be written while the block runs."""
    assert broker.process is not None
    pid, unlimited = broker.process.pid, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)


async def test_without_room_nothing_is_confirmed_and_all_goes_on_once_there_is(broker: BrokerProcess) -> None:
    queue = broker.queue()
    async with (
        client_of(broker, retry_total=0) as client,
        client.get_queue_sender(queue) as sender,
        client.get_queue_receiver(queue) as receiver,
    ):
        desk = Desk(client, queue, sender, receiver)
        await desk.send("a", "b")
        first, second = await desk.receive(2)
        with no_room(broker):
            with pytest.raises(ServiceBusQuotaExceededError):
                await desk.send("refused")
            with pytest.raises(ServiceBusQuotaExceededError):
                await sender.send_messages([ServiceBusMessage("refused") for _ in range(3)])
            with pytest.raises(ServiceBusQuotaExceededError):
                await sender.schedule_messages(ServiceBusMessage("refused"), TOMORROW)
            with pytest.raises(ServiceBusServerBusyError):
                await receiver.complete_message(first)
            with pytest.raises(ServiceBusServerBusyError):
                await receiver.renew_message_lock(second)
        await receiver.complete_message(first)
        await receiver.renew_message_lock(second)
        await desk.send("c")
        assert [str(m) for m in await receiver.peek_messages(10, sequence_number=1)] == ["b", "c"]


async def test_a_settlement_is_repeated_by_the_sdk_until_there_is_room(broker: BrokerProcess) -> None:
    queue = broker.queue()
    async with (
        client_of(broker, retry_backoff_factor=0.2) as client,
        client.get_queue_sender(queue) as sender,
        client.get_queue_receiver(queue) as receiver,
    ):
        desk = Desk(client, queue, sender, receiver)
        await desk.send("x")
        message = await desk.one()
        with no_room(broker):
            completing = asyncio.create_task(receiver.complete_message(message))
            await asyncio.sleep(0.3)
            assert not completing.done()
        await completing
        assert await receiver.peek_messages(10, sequence_number=1) == []


async def test_a_waiting_receiver_is_served_once_there_is_room(broker: BrokerProcess) -> None:
    queue = broker.queue()
    async with (
        client_of(broker) as client,
        client.get_queue_sender(queue) as sender,
        client.get_queue_receiver(queue) as receiver,
    ):
        desk = Desk(client, queue, sender, receiver)
        await desk.send("x")
        with no_room(broker):
            waiting = asyncio.create_task(desk.one())
            await asyncio.sleep(0.5)
            assert not waiting.done()
        got = await waiting
        assert (str(got), got.delivery_count) == ("x", 0)


async def test_what_was_refused_does_not_come_with_a_restart(tmp_path: Path) -> None:
    with running_broker(tmp_path) as broker:
        queue = broker.queue()
        async with client_of(broker, retry_total=0) as client, client.get_queue_sender(queue) as sender:
            await sender.send_messages(ServiceBusMessage("kept"))
            with no_room(broker), pytest.raises(ServiceBusQuotaExceededError):
                await sender.send_messages(ServiceBusMessage("refused"))
            await asyncio.to_thread(broker.kill)
        await asyncio.to_thread(broker.start)
        async with client_of(broker) as client, client.get_queue_receiver(queue) as receiver:
            assert [str(m) for m in await receiver.peek_messages(10)] == ["kept"]


def overwrite(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:8192] + b"\xa5" * (len(content) - 8192))


def put_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def set_version(file: Path) -> None:
    changed = sqlite3.connect(file)
    changed.execute("PRAGMA user_version = 99")
    changed.close()


def refused_start(folder: Path, monkeypatch: pytest.MonkeyPatch, said: pytest.CaptureFixture[str]) -> str:
    """What the broker says when it does not start."""
    config = write_config(folder / "config.json")
    arguments = ["--config", str(config), "--data", str(folder), "--port", "0"]
    monkeypatch.setattr(sys, "argv", ["broker", *arguments])
    assert main() == 2
    told = said.readouterr()
    assert told.out == ""
    return told.err


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """A broker's database, closed."""
    engine = Engine([QueuePolicy("q")], tmp_path)
    await engine.start()
    await engine.stop()
    return tmp_path / FILE_NAME


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (overwrite, "is damaged"),
        (lambda file: os.truncate(file, 5000), "is damaged"),
        (lambda file: file.write_text("no database " * 1000), "is damaged"),
        (set_version, "found version 99"),
        (put_folder, "let this user read and write it"),
    ],
)
def test_a_database_that_cannot_be_used_ends_the_start_with_what_to_do(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    harm: Callable[[Path], object],
    said: str,
) -> None:
    harm(file)
    told = refused_start(file.parent, monkeypatch, capsys)
    assert said in told
    assert str(file) in told
    assert any(words in told for words in ("move it away", "choose another data folder"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write whatever its mode")
def test_a_database_that_may_not_be_written_ends_the_start_with_what_to_do(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file.chmod(0o400)
    assert "for writing" in refused_start(file.parent, monkeypatch, capsys)


def test_a_disk_without_room_ends_the_first_start_with_what_to_do(tmp_path: Path) -> None:
    config = write_config(tmp_path / "config.json")
    program = (
        "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
        "runpy.run_module('devhost.servicebus', run_name='__main__')"
    )
    ended = subprocess.run(
        [
            *(sys.executable, "-c", program, "--config", str(config)),
            *("--data", str(tmp_path / "data"), "--port", "0"),
        ],
        capture_output=True,
        check=False,
        text=True,
        timeout=90,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "cannot be written" in ended.stderr
    assert "Traceback" not in ended.stderr
