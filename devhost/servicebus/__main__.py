"""`python -m devhost.servicebus`: the local broker as a process.

Prints one JSON line when it is ready: {"port": ..., "connection_string": ...}. SIGTERM or SIGINT ends it.
Exit codes: 0 after a signal, 2 if it cannot start (standard error says why).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import signal
import sys
from pathlib import Path

from devhost.servicebus.broker import Broker
from devhost.servicebus.config import ConfigError, load_config
from devhost.servicebus.engine import Engine
from devhost.servicebus.model import StorageFaultError
from devhost.servicebus.sas import SharedKey
from devhost.servicebus.server import connection_string, listen, port_of

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
    parser.add_argument("--log-level", default="WARNING", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    engine = await _started_engine(arguments)
    try:
        key = SharedKey(arguments.key_name, arguments.key)
        broker = Broker(engine, key)
        try:
            server = await listen(broker, arguments.host, arguments.port)
        except (OSError, OverflowError) as error:
            raise _StartError(
                f"cannot listen on {arguments.host} port {arguments.port}: {error}. "
                "Stop what uses it, or choose another with --port (0 takes a free one)."
            ) from error
        port = port_of(server)
        text = connection_string(arguments.host, port, key)
        print(json.dumps({"port": port, "connection_string": text}), flush=True)
        await stopping.wait()
        server.close()
        await broker.stop()
    finally:
        await engine.stop()


async def _started_engine(arguments: argparse.Namespace) -> Engine:
    try:
        policies = load_config(arguments.config)
    except ConfigError as error:
        raise _StartError(f"the configuration cannot be used:\n{error}") from error
    engine = Engine(policies, arguments.data)
    try:
        await engine.start()
    except (StorageFaultError, OSError) as error:
        raise _StartError(f"the messages in {arguments.data} cannot be opened: {error}") from error
    return engine


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
