"""Keys and webhook secrets of a local stack: made once per state folder, then kept."""

import base64
import json
import os
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class PipelineReadError(RuntimeError):
    """`pipeline.toml` could not be read far enough to know the sources' secrets."""


class CredentialsReadError(RuntimeError):
    """The kept credentials could not be read; the text says which file and what to do."""


@dataclass(frozen=True, slots=True)
class Source:
    """A webhook source: its signature scheme and the settings that hold its secrets, current one first."""

    name: str
    scheme: str
    secret_settings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Credentials:
    """Everything a local stack had to invent. `settings` maps a setting's name to the secret in it."""

    master_key: str
    operator_key: str
    settings: Mapping[str, str]


def read_sources(pipeline: Path) -> list[Source]:
    """The sources of a pipeline file; the application itself checks the rest of that file."""
    try:
        document = tomllib.loads(pipeline.read_text(encoding="utf-8"))
    except OSError as fault:
        raise PipelineReadError(f"{pipeline} cannot be read: {fault.strerror}.") from fault
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise PipelineReadError(f"{pipeline} is not valid TOML: {fault}.") from fault
    tables = document.get("sources")
    if not isinstance(tables, dict):
        return []
    return [_source(name, table) for name, table in tables.items() if isinstance(table, dict)]


def load_or_create(file: Path, sources: list[Source]) -> Credentials:
    """The credentials kept in `file`, with new ones for what it lacks; only its owner can read the file."""
    kept = _kept(file)
    settings: dict[str, str] = kept.get("settings", {})
    for source in sources:
        for setting in source.secret_settings:
            settings.setdefault(setting, _new_secret(source.scheme))
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
    return Source(name, str(table.get("scheme", "")), tuple(settings))


def _new_secret(scheme: str) -> str:
    if scheme == "standard":  # Standard Webhooks: "whsec_" and base64 of 24 to 64 random bytes
        return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    return secrets.token_urlsafe(24)
