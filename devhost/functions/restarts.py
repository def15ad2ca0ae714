"""Keep a host going as the platform does: when its process ends, all it ran is gone, and a new one begins.

A small parent starts the host proper as a child, passes on being asked to end, and starts the child again
with the same port and keys when that ends by itself: at a `functionTimeout`, a `sys.exit` of a function, or a
crash. A child notices the end of its parent by the end of its standard input. Standard library only.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from devhost.ports import free_ports
from devhost.system import SYSTEM

KEPT = "--kept"
"""Given to a child: its first line of standard input holds the keys, or null."""
_ORPHANED = 71
_STEADY_SECONDS = 10.0
_BACKOFF_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)

_log = logging.getLogger("host")


def restart_delay(quick_deaths: int) -> float:
    """Seconds until the next start: none after one death, longer in a series of quick ones."""
    return _BACKOFF_SECONDS[min(max(quick_deaths - 1, 0), len(_BACKOFF_SECONDS) - 1)]


class Keeper:
    """Runs one host after another, until asked to end."""

    def __init__(self, arguments: Sequence[str], ready: TextIO) -> None:
        self._arguments = [*arguments, *port_to_keep(arguments)]
        self._ready = ready
        self._keys: Any = None
        self._is_ready = False
        self._stopping = asyncio.Event()
        self._child: subprocess.Popen[Any] | None = None

    async def run(self) -> int:
        """The exit code of the last host. One that never got ready is not started again."""
        loop = asyncio.get_running_loop()
        SYSTEM.on_stop(loop, self._stop)
        quick_deaths = 0
        while True:
            begun = loop.time()
            code = await self._one_life()
            if self._stopping.is_set() or not self._is_ready:
                return code if code >= 0 else 128 - code
            quick_deaths = quick_deaths + 1 if loop.time() - begun < _STEADY_SECONDS else 1
            delay = restart_delay(quick_deaths)
            _log.warning("event=worker_restarting exit_code=%d in_s=%g", code, delay)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay or 0.001)
                return 0

    def _stop(self) -> None:
        self._stopping.set()
        if self._child is not None and self._child.returncode is None:
            SYSTEM.end(self._child.pid)

    async def _one_life(self) -> int:
        command = [sys.executable, "-m", "devhost.functions", *self._arguments, KEPT]
        # Not asyncio's: its wait() lasts until every process that the app forked has let go of the pipe.
        child: subprocess.Popen[Any] = subprocess.Popen(  # noqa: ASYNC220 - only waiting for it would block
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **SYSTEM.popen_arguments
        )
        self._child = child
        if self._stopping.is_set():
            SYSTEM.end(child.pid)
        reading = asyncio.create_task(asyncio.to_thread(self._talk, child))
        code = await asyncio.to_thread(child.wait)
        SYSTEM.kill_group(child.pid)  # what its functions started ends with it
        await reading
        assert child.stdin is not None
        child.stdin.close()
        return code

    def _talk(self, child: subprocess.Popen[Any]) -> None:
        """Give the keys and take the ready line. Standard input stays open: its end would end the child."""
        assert child.stdin is not None
        assert child.stdout is not None
        with child.stdout:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(json.dumps(self._keys).encode() + b"\n")
                child.stdin.flush()
            if line := child.stdout.readline():
                self._adopt(json.loads(line))

    def _adopt(self, told: dict[str, Any]) -> None:
        """Keep what the first host chose; whoever waits for it learns of it once."""
        if self._is_ready:
            return
        self._is_ready = True
        self._keys = told.get("keys")
        self._arguments += ["--port", str(told["port"])]
        self._ready.write(json.dumps(told | {"pid": os.getpid()}) + "\n")
        self._ready.flush()


def port_to_keep(arguments: Sequence[str]) -> list[str]:
    """Arguments for a port that no client is given while nobody listens there; none if one was asked for."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--port", nargs="?", default="0")
    asked = parser.parse_known_args(arguments)[0].port
    return ["--port", str(free_ports(1)[0])] if asked == "0" else []


def take_lifeline() -> Any:
    """In a child: the keys its parent gave, or None. The child ends at once when its parent does."""
    with Path(os.devnull).open("rb") as nothing:
        pipe = os.fdopen(os.dup(0), "rb")
        os.dup2(nothing.fileno(), 0)
    keys = json.loads(pipe.readline() or b"null")

    def watch() -> None:
        pipe.read()
        SYSTEM.kill_group(os.getpid())  # this process and what its functions started
        os._exit(_ORPHANED)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()
    return keys
