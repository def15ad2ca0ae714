"""What `send` and `sign` share: a file's bytes as a signed request of a source's sender."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from devhost import paths
from devhost.commands.running import url_of
from devhost.credentials import read_tables
from devhost.local_settings import read_values
from devhost.senders.by_scheme import CannotSignError, NoSecretError, sign_for

STANDARD_INPUT = "-"


class RequestError(RuntimeError):
    """The request cannot be made or sent; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A POST as the sender would make it. `address` has the query; header names are in lower case."""

    address: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def parse(command: str, does: str, arguments: Sequence[str]) -> argparse.Namespace:
    """The options that both commands have."""
    parser = argparse.ArgumentParser(
        prog=f"dev.py {command}",
        description=f"{does} Where the signature covers the time, it holds for the source's tolerance.",
    )
    parser.add_argument("source", metavar="SOURCE", help="a source of the pipeline file")
    parser.add_argument("file", metavar="FILE", help="the body, sent byte for byte; - is standard input")
    parser.add_argument(
        "--event", metavar="NAME", help="the event's type, for senders that put it into a header"
    )
    parser.add_argument("--pipeline", type=Path, metavar="FILE", help="default: that of the stack")
    parser.add_argument(
        "--settings", type=Path, metavar="FILE", help="take the secrets from here, not from the stack"
    )
    parser.add_argument(
        "--state",
        type=Path,
        default=paths.DEFAULT_STATE,
        metavar="DIR",
        help="the state folder of the stack (default: %(default)s)",
    )
    parser.add_argument(
        "--url", metavar="URL", help="the app's address (default: that of the stack which runs)"
    )
    return parser.parse_args(arguments)


def signed_request(options: argparse.Namespace) -> SignedRequest:
    """The request that the options ask for.

    Raises RequestError, NotRunningError, PipelineReadError or SettingsFileError.
    """
    state: Path = options.state.resolve()
    app = _checked(options.url) if options.url else url_of(state)
    values = _values(options.settings, state)
    pipeline: Path = options.pipeline or Path(values.get("AFTERHOOK_PIPELINE") or paths.PIPELINE)
    table = _table(options.source, paths.ROOT / pipeline if not options.pipeline else pipeline)
    try:
        headers, query, body = sign_for(
            table, values, _bytes_of(options.file), now=datetime.now(UTC), event=options.event
        )
    except CannotSignError as reason:
        advice = _where_to_get_one(options.settings) if isinstance(reason, NoSecretError) else ""
        raise RequestError(f"Source {options.source}: {reason}{advice}") from reason
    address = f"{app}/api/webhooks/{options.source}"
    return SignedRequest(f"{address}?{query}" if query else address, headers, body)


def _where_to_get_one(settings: Path | None) -> str:
    if settings is not None:
        return f" Put it into {settings}, or leave --settings out to use the stack's."
    return " Start `dev.py up` again with this pipeline file: it makes one; or name a file with --settings."


def _checked(url: str) -> str:
    if not _is_address(url):
        raise RequestError(f"--url {url}: expected the app's address, such as https://hooks.example.com")
    return url.rstrip("/")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or parts.username)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0 and plain


def _values(settings: Path | None, state: Path) -> Mapping[str, str]:
    """The app's settings: of the file, or as the stack's host has them."""
    if settings is not None:
        return read_values(settings)
    kept = state / "settings.json"
    if not kept.exists():
        raise RequestError(
            f"{kept} is not there, which holds the secrets of the local stack. Start one once with"
            " `python3 dev.py up`, or name a settings file with --settings FILE."
        )
    return read_values(kept)


def _table(source: str, pipeline: Path) -> Mapping[str, object]:
    tables = read_tables(pipeline)
    if source not in tables:
        known = ", ".join(sorted(tables)) or "none"
        raise RequestError(f"{pipeline} has no source {source!r}. Its sources: {known}.")
    return tables[source]


def _bytes_of(file: str) -> bytes:
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as fault:
        raise RequestError(f"{file} cannot be read: {fault.strerror}.") from fault
