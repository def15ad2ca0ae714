"""A real local broker process with one queue, and what tests do to it through the SDK."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azure.servicebus import ServiceBusClient, ServiceBusMessage, ServiceBusReceivedMessage

from devhost.faults.clock import BrokerClock
from devhost.ports import free_ports
from tests.host.harness import PATIENCE_SECONDS, REPOSITORY
from tests.support.forking.process import popen

QUEUE = "work"


@dataclass
class BrokerProcess:
    """Start, kill and start again; the port stays, so clients find it back."""

    folder: Path
    lock_duration: str = "PT1M"
    max_delivery_count: int = 5

    def __post_init__(self) -> None:
        (self.port,) = free_ports(1)
        self.connection_string = (
            f"Endpoint=sb://127.0.0.1:{self.port};SharedAccessKeyName=RootManageSharedAccessKey;"
            "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;"
        )
        self.clock = BrokerClock(self.folder / "clock.json")
        self._process: subprocess.Popen[str] | None = None
        self._config = self.folder / "broker.json"
        properties = {
            "DeadLetteringOnMessageExpiration": True,
            "DefaultMessageTimeToLive": "P14D",
            "LockDuration": self.lock_duration,
            "MaxDeliveryCount": self.max_delivery_count,
            "RequiresDuplicateDetection": False,
            "RequiresSession": False,
        }
        queues = [{"Name": QUEUE, "Properties": properties}]
        document = {"UserConfig": {"Namespaces": [{"Name": "sbemulatorns", "Queues": queues}]}}
        self._config.write_text(json.dumps(document), encoding="utf-8")

    def start(self) -> None:
        command = [sys.executable, "-m", "devhost.servicebus", "--config", str(self._config)]
        command += ["--port", str(self.port), "--data", str(self.folder / "data")]
        command += ["--clock", str(self.clock.file)]
        self._process = popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert json.loads(self._process.stdout.readline())["port"] == self.port

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def end_locks(self) -> None:
        """Let the time of every lock run out that is not renewed meanwhile; for locks of a minute or less."""
        self.clock.advance(61, timeout=PATIENCE_SECONDS)

    def send(self, *bodies: Any, **properties: Any) -> None:
        messages = [ServiceBusMessage(body, **properties) for body in bodies]
        with self._client() as client, client.get_queue_sender(QUEUE) as sender:
            sender.send_messages(messages)

    def peek(self, sub_queue: str | None = None) -> list[ServiceBusReceivedMessage]:
        with self._client() as client, client.get_queue_receiver(QUEUE, sub_queue=sub_queue) as receiver:
            return receiver.peek_messages(max_message_count=250)

    def wait_for_count(
        self, count: int, sub_queue: str | None = None, seconds: float = PATIENCE_SECONDS
    ) -> None:
        """Wait until the queue holds exactly `count` messages, locked ones included."""
        deadline = time.monotonic() + seconds
        with self._client() as client, client.get_queue_receiver(QUEUE, sub_queue=sub_queue) as receiver:
            while (found := len(receiver.peek_messages(max_message_count=250, sequence_number=1))) != count:
                assert time.monotonic() < deadline, f"{found} messages, not {count}"
                time.sleep(0.05)

    def _client(self) -> ServiceBusClient:
        return ServiceBusClient.from_connection_string(self.connection_string)


@contextmanager
def running_broker(folder: Path, **options: Any) -> Iterator[BrokerProcess]:
    folder.mkdir(parents=True, exist_ok=True)
    broker = BrokerProcess(folder, **options)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()
