"""Keys and webhook secrets of a local stack: made once per state folder, then kept."""

import base64
import json
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PSEUDONYM_KEY = "AFTERHOOK_PSEUDONYM_KEY"
"""Keys the hash of personal ids; the app demands it where a source has no secret to take in its place."""


class PipelineReadError(RuntimeError):
    """`pipeline.toml` could not be read far enough to know the sources' secrets."""


class CredentialsReadError(RuntimeError):
    """The kept credentials could not be read; the text says which file and what to do."""


@dataclass(frozen=True, slots=True)
class Source:
    """A webhook source: its signature scheme and the settings that hold its secrets, current one first.

    `further_settings` are those that the scheme's own options name. `key_encoding` says how a secret of the
    generic HMAC scheme is written: as `text`, `hex` or `base64`.
    """

    name: str
    scheme: str
    secret_settings: tuple[str, ...]
    further_settings: tuple[str, ...] = ()
    key_encoding: str = "text"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Everything a local stack had to invent. `settings` maps a setting's name to the secret in it."""

    master_key: str
    operator_key: str
    settings: Mapping[str, str]


def read_sources(pipeline: Path) -> list[Source]:
    """The sources of a pipeline file; the application itself checks the rest of that file."""
    return [_source(name, table) for name, table in read_tables(pipeline).items()]


def read_tables(pipeline: Path) -> dict[str, dict[str, Any]]:
    """The tables of a pipeline file's sources as they stand there, by name."""
    try:
        text = pipeline.read_text(encoding="utf-8")
        if text.startswith("\ufeff"):
            raise PipelineReadError(
                f"{pipeline} begins with a byte order mark. Save it as UTF-8 without one."
            )
        document = tomllib.loads(text)
    except OSError as fault:
        raise PipelineReadError(f"{pipeline} cannot be read: {fault.strerror}.") from fault
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise PipelineReadError(f"{pipeline} is not valid TOML: {fault}.") from fault
    tables = document.get("sources")
    if not isinstance(tables, dict):
        return {}
    return {name: table for name, table in tables.items() if isinstance(table, dict)}


def load_or_create(file: Path, sources: list[Source]) -> Credentials:
    """The credentials kept in `file`, with new ones for what it lacks; only its owner can read the file."""
    kept = _kept(file)
    settings: dict[str, str] = kept.get("settings", {})
    for source in sources:
        form = _form(source)
        for setting in (*source.secret_settings, *source.further_settings):
            if setting not in settings or not form.fits(settings[setting]):
                settings[setting] = form.make()
    if any(not source.secret_settings for source in sources):
        settings.setdefault(PSEUDONYM_KEY, _TEXT.make())
    credentials = Credentials(
        master_key=kept.get("master_key") or secrets.token_urlsafe(32),
        operator_key=kept.get("operator_key") or secrets.token_urlsafe(32),
        settings=settings,
    )
    write_private(
        file,
        {
            "master_key": credentials.master_key,
            "operator_key": credentials.operator_key,
            "settings": dict(credentials.settings),
        },
    )
    return credentials


def write_private(file: Path, content: object) -> None:
    """Write JSON that only its owner can read, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        json.dump(content, out, indent=2)
    draft.replace(file)


def _kept(file: Path) -> dict[str, Any]:
    try:
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except ValueError:
        kept = None
    if not isinstance(kept, dict):
        raise CredentialsReadError(
            f"{file} is damaged. Remove it; new keys and secrets are made at the next start."
        )
    return kept


def _source(name: str, table: Mapping[str, object]) -> Source:
    named = table.get("secrets", [])
    settings = [item for item in named if isinstance(item, str)] if isinstance(named, list) else []
    scheme = str(table.get("scheme", ""))
    return Source(
        name,
        scheme,
        tuple(settings),
        further_settings=tuple(_further(scheme, table)),
        key_encoding=str(table.get("key_encoding", "text")),
    )


def _further(scheme: str, table: Mapping[str, object]) -> list[str]:
    """Meta's verify token, and Twilio's shared keys by their ids."""
    match scheme, table.get("verify_token"), table.get("shared_keys"):
        case "meta", str(setting), _:
            return [setting]
        case "twilio", _, dict(keys):
            return [setting for setting in keys.values() if isinstance(setting, str)]
        case _:
            return []


@dataclass(frozen=True, slots=True)
class _Form:
    """How secrets of one kind are written, and how one is made."""

    pattern: str
    make: Callable[[], str]

    def fits(self, secret: str) -> bool:
        """Whether a kept secret is of this form: the source may have been of another kind before."""
        return re.fullmatch(self.pattern, secret, re.ASCII) is not None


def _base64() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode()


_TEXT = _Form(r"\S+", lambda: secrets.token_urlsafe(24))
_WHSEC = _Form(r"whsec_[A-Za-z0-9+/]+=*", lambda: f"whsec_{_base64()}")
_HEX = _Form(r"(?:[0-9a-f]{2}){16,}", lambda: secrets.token_hex(32))
_BASE64 = _Form(r"[A-Za-z0-9+/]{43}=", _base64)


def _form(source: Source) -> _Form:
    """Standard Webhooks: `whsec_` and the base64 of 24 to 64 random bytes; Stripe's look the same."""
    match source.scheme, source.key_encoding:
        case (("standard" | "stripe"), _):
            return _WHSEC
        case "hmac", "hex":
            return _HEX
        case "hmac", "base64":
            return _BASE64
        case _:
            return _TEXT
