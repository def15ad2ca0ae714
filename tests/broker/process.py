"""A real broker process for tests."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from devhost.ports import free_ports
from tests.support.forking.process import popen

KINDS: Mapping[str, dict[str, object]] = {
    "plain": {"LockDuration": "PT30S", "MaxDeliveryCount": 3},
    "short": {"LockDuration": "PT1.5S", "MaxDeliveryCount": 5},
    "kept": {"LockDuration": "PT4S", "MaxDeliveryCount": 5},
    "long": {"LockDuration": "PT15S", "MaxDeliveryCount": 5},
    "steady": {"LockDuration": "PT2M", "MaxDeliveryCount": 3},
    "dup": {"RequiresDuplicateDetection": True, "DuplicateDetectionHistoryTimeWindow": "PT10M"},
    "window": {"RequiresDuplicateDetection": True, "DuplicateDetectionHistoryTimeWindow": "PT2S"},
    "expiring": {"DeadLetteringOnMessageExpiration": True, "DefaultMessageTimeToLive": "PT1S"},
    "ttl": {"DeadLetteringOnMessageExpiration": True, "LockDuration": "PT30S", "MaxDeliveryCount": 3},
    "once": {"LockDuration": "PT1.5S", "MaxDeliveryCount": 1},
}
_QUEUES_A_KIND = 80
_PLAIN_QUEUES = 800


def write_config(path: Path) -> Path:
    """A configuration with many queues of each kind."""
    queues = [
        {"Name": f"{kind}-{number}", "Properties": properties}
        for kind, properties in KINDS.items()
        for number in range(_PLAIN_QUEUES if kind == "plain" else _QUEUES_A_KIND)
    ]
    path.write_text(json.dumps({"UserConfig": {"Namespaces": [{"Name": "tests", "Queues": queues}]}}))
    return path


@dataclass
class BrokerProcess:
    """One broker over one data folder; it can be killed and started again on its port."""

    folder: Path
    port: int = 0
    connection_string: str = ""
    process: subprocess.Popen[str] | None = None
    options: tuple[str, ...] = ()
    """More arguments of the command."""
    _numbers: dict[str, Iterator[int]] = field(default_factory=lambda: {kind: count() for kind in KINDS})

    def start(self) -> None:
        """Start it and wait until it is ready."""
        config = write_config(self.folder / "servicebus.json")
        if not self.port:  # below those that clients are given, so that it is there after a restart
            (self.port,) = free_ports(1)
        self.process = popen(
            [
                *(sys.executable, "-m", "devhost.servicebus", "--config", str(config)),
                *("--port", str(self.port), "--data", str(self.folder / "data")),
                *self.options,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        ready: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.port, self.connection_string = ready["port"], ready["connection_string"]

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """End it as an operator would; its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.process.stdout.close()
        self.process = None
        return code

    def queue(self, kind: str = "plain") -> str:
        """The name of a queue nobody else uses."""
        return f"{kind}-{next(self._numbers[kind])}"


@contextmanager
def running_broker(folder: Path, *options: str) -> Iterator[BrokerProcess]:
    """A broker that is there for the time of a block."""
    broker = BrokerProcess(folder, options=options)
    broker.start()
    try:
        yield broker
    finally:
        if broker.process is not None:
            broker.stop()


async def restart_after_kill(broker: BrokerProcess) -> None:
    await asyncio.to_thread(broker.kill)
    await asyncio.to_thread(broker.start)


def refusal(*arguments: str) -> str:
    """What the broker says when it cannot start."""
    ended = subprocess.run(
        [sys.executable, "-m", "devhost.servicebus", *arguments],
        capture_output=True,
        check=False,
        text=True,
        timeout=90,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Traceback" not in ended.stderr
    return ended.stderr
