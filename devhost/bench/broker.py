"""The local broker through the unmodified SDK: what a test run can expect of it."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from azure.servicebus import ServiceBusClient, ServiceBusMessage, ServiceBusReceiver

from devhost import paths
from devhost.bench.figures import Figure
from devhost.bench.processes import resident_bytes

_BATCH, _BATCHES = 100, 100
_QUEUE = "bench"
_CONFIG = {"UserConfig": {"Namespaces": [{"Name": "local", "Queues": [{"Name": _QUEUE, "Properties": {}}]}]}}


def run() -> list[Figure]:
    """Ten thousand small messages in batches of a hundred, then received and completed one by one."""
    count = _BATCH * _BATCHES
    with _broker() as (address, pid), ServiceBusClient.from_connection_string(address) as client:
        before = resident_bytes(pid)
        with client.get_queue_sender(_QUEUE) as sender:
            sender.send_messages(ServiceBusMessage("warm"))
            begun = time.perf_counter()
            for _ in range(_BATCHES):
                sender.send_messages([ServiceBusMessage(b"x" * 200) for _ in range(_BATCH)])
            sending = time.perf_counter() - begun
        with client.get_queue_receiver(_QUEUE, prefetch_count=_BATCH) as receiver:
            begun = time.perf_counter()
            _receive(receiver, count + 1)
            receiving = time.perf_counter() - begun
        after = resident_bytes(pid)
    rows = [
        Figure("sent in batches of 100 and confirmed", count / sending, "per second", f"{count} messages"),
        Figure(
            "received and completed, one receiver", count / receiving, "per second", "the SDK's share too"
        ),
    ]
    if before is not None and after is not None:
        rows.append(Figure("memory of the broker, growth", (after - before) / 2**20, "MiB"))
    return rows


def _receive(receiver: ServiceBusReceiver, count: int) -> None:
    while count > 0:
        for message in receiver.receive_messages(max_message_count=_BATCH, max_wait_time=30):
            receiver.complete_message(message)
            count -= 1


@contextmanager
def _broker() -> Iterator[tuple[str, int]]:
    """A broker of its own, on a free port."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "queues.json")
        config.write_text(json.dumps(_CONFIG), encoding="utf-8")
        command = [sys.executable, "-m", "devhost.servicebus", "--config", str(config), "--port", "0"]
        process = subprocess.Popen(
            [*command, "--data", str(Path(folder, "data"))], cwd=paths.ROOT, stdout=subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            yield ready["connection_string"], process.pid
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()
