"""A broker that may open only a few files, as under a low `ulimit -n`."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from devhost.amqp.framing import SASL_HEADER
from devhost.servicebus.capacity import OWN_FILES
from tests.broker.client import desk_of
from tests.broker.process import BrokerProcess, write_config

pytestmark = [
    pytest.mark.broker,
    pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit"),
]
FILES = 64
BURST = 300


def command(folder: Path, files: int) -> list[str]:
    """A broker with so many files, and no leave to raise the limit."""
    return [
        *("sh", "-c", f'ulimit -n {files} && exec "$@"', "sh", sys.executable, "-m", "devhost.servicebus"),
        *("--config", str(write_config(folder / "config.json")), "--data", str(folder / "data")),
        *("--port", "0"),
    ]


@dataclass
class Poor:
    """A broker with few files, and its log."""

    broker: BrokerProcess
    log: Path

    def connect(self) -> socket.socket:
        """A client that has said nothing yet."""
        return socket.create_connection(("127.0.0.1", self.broker.port), 30)


@pytest.fixture
def poor(tmp_path: Path) -> Iterator[Poor]:
    log = tmp_path / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command(tmp_path, FILES), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        broker = BrokerProcess(tmp_path, ready["port"], ready["connection_string"], process)
        yield Poor(broker, log)
        assert broker.stop() == 0


def is_served(client: socket.socket) -> bool:
    """Whether the broker answers, or ends the connection."""
    try:
        client.sendall(SASL_HEADER)
        return client.recv(len(SASL_HEADER), socket.MSG_WAITALL) == SASL_HEADER
    except (ConnectionResetError, BrokenPipeError):
        return False


async def test_clients_above_the_limit_are_turned_away_at_once_and_the_others_served(poor: Poor) -> None:
    async with desk_of(poor.broker, queue=poor.broker.queue()) as desk:
        with ExitStack() as stack:
            clients = [stack.enter_context(poor.connect()) for _ in range(BURST)]
            served = [await asyncio.to_thread(is_served, client) for client in clients]
            await desk.send("x")
            assert str(await desk.one()) == "x"
    assert 0 < sum(served) <= FILES - OWN_FILES
    (line,) = poor.log.read_text().splitlines()
    assert f"may have {FILES} files open" in line
    assert "ulimit -n" in line


async def test_there_is_room_again_once_clients_have_gone(poor: Poor) -> None:
    with ExitStack() as stack:
        for _ in range(FILES):
            stack.enter_context(poor.connect())
        with poor.connect() as late:
            assert not await asyncio.to_thread(is_served, late)
    async with desk_of(poor.broker, queue=poor.broker.queue()) as desk:
        await desk.send("x")
        assert str(await desk.one()) == "x"


def test_a_limit_that_leaves_no_room_at_all_is_refused_at_the_start(tmp_path: Path) -> None:
    ended = subprocess.run(
        command(tmp_path, OWN_FILES), capture_output=True, check=False, text=True, timeout=90
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert f"may have {OWN_FILES} files open" in line
    assert "ulimit -n" in line
