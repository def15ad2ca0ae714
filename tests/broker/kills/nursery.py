"""Broker processes in milliseconds: one process imports the broker, and forks a real one at each request.

Run as a module with a socket's descriptor, it takes requests: the broker's arguments as JSON, and where its
standard output goes. It answers with the new process's id.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

_LONGEST_REQUEST = 65_536


@dataclass
class Child:
    """A broker that was forked; to be killed."""

    pid: int
    output: asyncio.StreamReader

    async def ready(self) -> int | None:
        """The port on which it serves; None if it died before."""
        line = await asyncio.wait_for(self.output.readline(), 30)
        return int(json.loads(line)["port"]) if line.endswith(b"\n") else None

    async def kill(self) -> None:
        """SIGKILL, and wait until the process is gone."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        await asyncio.wait_for(self.output.read(), 30)  # ends when its last descriptor does


class Nursery:
    """The test's side."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    async def fork(self, arguments: Sequence[str]) -> Child:
        """A broker with these arguments, at its very start."""
        reading, writing = os.pipe()
        try:
            pid = await asyncio.to_thread(self._ask, arguments, writing)
        finally:
            os.close(writing)
        output = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(output), os.fdopen(reading, "rb", buffering=0)
        )
        return Child(pid, output)

    def _ask(self, arguments: Sequence[str], output: int) -> int:
        socket.send_fds(self._control, [json.dumps(list(arguments)).encode()], [output])
        return int(self._control.recv(100))


@contextmanager
def open_nursery() -> Iterator[Nursery]:
    """A nursery; with it end the brokers that are left."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine:
        command = [sys.executable, "-m", __name__, str(its.fileno())]
        process = subprocess.Popen(command, pass_fds=[its.fileno()], start_new_session=True)
        its.close()
        try:
            yield Nursery(mine)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)


def _become_broker(arguments: Any, output: int) -> None:
    from devhost.servicebus.__main__ import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(output, 1)
    os.close(output)
    sys.argv = ["devhost.servicebus", *arguments]
    os._exit(main())


def _serve(control: socket.socket) -> None:
    import devhost.servicebus.__main__  # noqa: F401 - once for all

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, _LONGEST_REQUEST, 1)
        if not request:
            return
        pid = os.fork()
        if pid == 0:
            control.close()
            _become_broker(json.loads(request), descriptors[0])
        os.close(descriptors[0])
        control.send(str(pid).encode())


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
