"""`python -m devhost.outside`: the outside world as a process.

Prints one JSON line when it is ready: {"port": ..., "url": ...}. SIGTERM or SIGINT ends it.
Exit codes: 0 after a signal, 2 if it cannot start (standard error says why).
"""

import argparse
import asyncio
import contextlib
import json
import sys
import time
from pathlib import Path

from devhost.outside.journal import Journal
from devhost.outside.posting import Sender
from devhost.outside.server import Server, serving
from devhost.outside.world import World
from devhost.ports import LOOPBACK
from devhost.system import SYSTEM

_CANNOT_START = 2


class _StartError(Exception):
    """Why the outside cannot start, in a sentence for its user."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m devhost.outside",
        description="Stands in for model, video and message providers; counts what happened; makes faults.",
    )
    parser.add_argument("--port", type=int, default=0, help="on loopback; 0 takes a free one (default: 0)")
    parser.add_argument(
        "--state", type=Path, metavar="FILE", help="keep what happened, for the next start with this file"
    )
    return parser.parse_args()


async def _serve(port: int, state: Path | None) -> None:
    stopping = asyncio.Event()
    SYSTEM.on_stop(asyncio.get_running_loop(), stopping.set)
    try:
        journal = Journal(state)
    except OSError as error:
        raise _StartError(f"the state cannot be kept in {state}: {error}") from error
    with contextlib.closing(journal):
        try:
            world = World(journal, time.time)
        except (OSError, ValueError) as error:
            raise _StartError(f"the state in {state} cannot be used: {error}") from error
        async with Sender(lambda: world.settings) as sender:
            await _serve_until(stopping, Server(world, sender), port)


async def _serve_until(stopping: asyncio.Event, server: Server, port: int) -> None:
    try:
        async with serving(server, LOOPBACK, port) as taken:
            print(json.dumps({"port": taken, "url": f"http://{LOOPBACK}:{taken}"}), flush=True)
            await stopping.wait()
    except (OSError, OverflowError) as error:
        raise _StartError(
            f"cannot listen on {LOOPBACK} port {port}: {error}. "
            "Choose another with --port (0 takes a free one)."
        ) from error


def main() -> int:
    """Run until a signal comes."""
    arguments = _arguments()
    try:
        asyncio.run(_serve(arguments.port, arguments.state))
    except _StartError as error:
        print(f"outside: {error}", file=sys.stderr)
        return _CANNOT_START
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
