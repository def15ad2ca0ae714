"""The command line of the host."""

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

from devhost.functions.http_server import ANSWER_SECONDS
from devhost.functions.restarts import KEPT
from devhost.functions.worker.choice import WorkerKind


@dataclass(frozen=True, slots=True)
class Options:
    """What to run, and how."""

    app: Path
    port: int
    settings: Path | None
    host_json: Path
    keys: Path | None
    state: Path | None
    plugins: tuple[str, ...]
    grace_seconds: float
    answer_seconds: float
    worker: WorkerKind


def parse_options(arguments: list[str] | None = None) -> Options:
    """Read the command line; paths become absolute, as the app's folder becomes the working directory."""
    parser = argparse.ArgumentParser(
        prog="python -m devhost.functions", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--app", type=Path, required=True, help="folder of function_app.py")
    parser.add_argument("--port", type=_port, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument(
        "--settings", type=Path, help="local.settings.json (default: the app's, if it has one)"
    )
    parser.add_argument("--host-json", type=Path, help="host.json (default: the app's)")
    parser.add_argument(
        "--keys", type=Path, help="JSON file of access keys (default: fresh ones, printed when ready)"
    )
    parser.add_argument(
        "--restart",
        action="store_true",
        help="when the process ends by itself (functionTimeout, sys.exit, a crash), start it again, as the "
        "platform does; without it, it ends with 70 and a supervisor is to start it again",
    )
    parser.add_argument(KEPT, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--state", type=Path, help="folder that remembers when timers ran")
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="MODULE", help="import first, call its install()"
    )
    parser.add_argument(
        "--grace", type=_seconds, default=60.0, help="seconds that running functions get at SIGTERM"
    )
    parser.add_argument(
        "--answer-timeout", type=_seconds, default=ANSWER_SECONDS, help="seconds until a client gets 504"
    )
    parser.add_argument(
        "--worker",
        type=WorkerKind,
        choices=list(WorkerKind),
        default=WorkerKind.OWN,
        help="own: this host's; library: azure-functions-runtime, which needs Python 3.13",
    )
    given = parser.parse_args(arguments)
    app = given.app.resolve()
    own_settings = app / "local.settings.json"
    return Options(
        app=app,
        port=given.port,
        settings=given.settings.resolve()
        if given.settings
        else (own_settings if own_settings.is_file() else None),
        host_json=(given.host_json or app / "host.json").resolve(),
        keys=given.keys.resolve() if given.keys else None,
        state=given.state.resolve() if given.state else None,
        plugins=tuple(given.plugin),
        grace_seconds=given.grace,
        answer_seconds=given.answer_timeout,
        worker=given.worker,
    )


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError(f"{text} is no port; expected 0 to 65535")
    return port


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds; expected 0 or more")
    return seconds
