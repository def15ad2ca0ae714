"""Access keys: the host (master) key, a host-wide function key, and one key for each function.

Source: https://learn.microsoft.com/azure/azure-functions/function-keys-how-to
"""

import hmac
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from devhost.functions.errors import StartError


class AuthLevel(StrEnum):
    ANONYMOUS = "anonymous"
    FUNCTION = "function"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class AccessKeys:
    """The keys of one app."""

    master: str
    default: str
    functions: dict[str, str]

    def allow(self, level: AuthLevel, function: str, given: str | None) -> bool:
        """Whether `given` opens `function`. The master key opens all; function keys only FUNCTION level."""
        if level is AuthLevel.ANONYMOUS:
            return True
        if not given:
            return False
        accepted = [self.master]
        if level is AuthLevel.FUNCTION:
            accepted += [self.default, self.functions.get(function, "")]
        return any(bool(key) and hmac.compare_digest(key.encode(), given.encode()) for key in accepted)

    def as_dict(self) -> dict[str, object]:
        return {"master": self.master, "default": self.default, "functions": self.functions}


def generate_keys(functions: Iterable[str]) -> AccessKeys:
    """Fresh random keys for an app's functions."""
    return AccessKeys(
        master=secrets.token_urlsafe(32),
        default=secrets.token_urlsafe(32),
        functions={name: secrets.token_urlsafe(32) for name in functions},
    )


def read_keys(path: Path) -> AccessKeys:
    """Read `{"master": "...", "default": "...", "functions": {"<name>": "..."}}`. Raises StartError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StartError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise StartError(f"{path}: is not JSON ({error})") from None
    return parse_keys(document, str(path))


def parse_keys(document: Any, source: str) -> AccessKeys:
    """The keys in a JSON document of the form of `AccessKeys.as_dict`. Raises StartError naming `source`."""
    functions = document.get("functions", {}) if isinstance(document, dict) else None
    if (
        not isinstance(functions, dict)
        or not isinstance(document.get("master"), str)
        or not document["master"]
    ):
        raise StartError(f'{source}: expected {{"master": "...", "default": "...", "functions": {{...}}}}')
    values = [*functions.values(), document.get("default", "")]
    if not all(isinstance(value, str) for value in values):
        raise StartError(f"{source}: every key must be a string")
    return AccessKeys(master=document["master"], default=document.get("default", ""), functions=functions)
