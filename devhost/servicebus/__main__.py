"""`python -m devhost.servicebus`: the local broker as a process.

Prints one JSON line when it is ready: {"port": ..., "connection_string": ...}. SIGTERM or SIGINT ends it.
Exit codes: 0 after a signal, 2 if it cannot start (standard error says why).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from devhost.servicebus.broker import Broker
from devhost.servicebus.capacity import Capacity
from devhost.servicebus.clock import ClockFileError, FollowedClock
from devhost.servicebus.config import ConfigError, load_config
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import StorageFaultError
from devhost.servicebus.sas import SharedKey
from devhost.servicebus.server import connection_string, listen, port_of
from devhost.system import SYSTEM

_CANNOT_START = 2


class _StartError(Exception):
    """Why the broker cannot start, in a sentence for its user."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m devhost.servicebus", description="A local Service Bus broker."
    )
    parser.add_argument("--config", type=Path, required=True, help="the official emulator's JSON")
    parser.add_argument("--data", type=Path, required=True, help="folder that keeps the messages")
    parser.add_argument("--port", type=int, default=5672, help="0 takes a free one (default: 5672)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--key-name", default="RootManageSharedAccessKey")
    parser.add_argument(
        "--key", default="SAS_KEY_VALUE", help="the key clients sign with (default: SAS_KEY_VALUE)"
    )
    parser.add_argument(
        "--clock", type=Path, help="for tests: a file with the seconds by which to move the broker's time"
    )
    parser.add_argument("--log-level", default="WARNING", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace) -> None:
    stopping = asyncio.Event()
    SYSTEM.on_stop(asyncio.get_running_loop(), stopping.set)
    clock = _clock(arguments.clock)
    engine = await _started_engine(arguments, clock.queue_time if clock else time.time)
    following = asyncio.ensure_future(clock.follow(engine.clock_moved)) if clock else None
    try:
        await _serve_until(stopping, arguments, engine, clock.token_time if clock else time.time)
    finally:
        if following is not None:
            following.cancel()
        await engine.stop()


async def _serve_until(
    stopping: asyncio.Event, arguments: argparse.Namespace, engine: Engine, token_time: Callable[[], float]
) -> None:
    key = _key(arguments)
    broker = Broker(engine, key, clock=token_time, capacity=_capacity())
    try:
        server = await listen(broker, arguments.host, arguments.port)
    except (OSError, OverflowError) as error:
        raise _StartError(
            f"cannot listen on {arguments.host} port {arguments.port}: {error}. "
            "Stop what uses it, or choose another with --port (0 takes a free one) or --host."
        ) from error
    port = port_of(server)
    text = connection_string(arguments.host, port, key)
    print(json.dumps({"port": port, "connection_string": text}), flush=True)
    await stopping.wait()
    server.close()
    await broker.stop()


async def _started_engine(arguments: argparse.Namespace, now: Callable[[], float]) -> Engine:
    try:
        policies = load_config(arguments.config)
    except ConfigError as error:
        raise _StartError(f"the configuration cannot be used:\n{error}") from error
    engine = Engine(policies, arguments.data, clock=now)
    try:
        await engine.start()
    except (StorageFaultError, OSError) as error:
        raise _StartError(f"the messages in {arguments.data} cannot be opened: {error}") from error
    return engine


def _clock(file: Path | None) -> FollowedClock | None:
    try:
        return None if file is None else FollowedClock(file)
    except ClockFileError as error:
        raise _StartError(str(error)) from error


def _key(arguments: argparse.Namespace) -> SharedKey:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", arguments.key_name):
        raise _StartError(
            "--key-name may have letters, digits, periods, hyphens and underscores, as in Azure."
        )
    if not arguments.key or ";" in arguments.key:
        raise _StartError("--key must not be empty or have a semicolon: no connection string could hold it.")
    return SharedKey(arguments.key_name, arguments.key)


def _capacity() -> Capacity:
    capacity = Capacity(SYSTEM.allow_many_files())
    if capacity.connections == 0:
        raise _StartError(f"{capacity.advice()}.")
    return capacity


def main() -> int:
    """Run until a signal comes."""
    arguments = _arguments()
    logging.basicConfig(level=arguments.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        asyncio.run(_serve(arguments))
    except _StartError as error:
        print(f"local broker: {error}", file=sys.stderr)
        return _CANNOT_START
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
