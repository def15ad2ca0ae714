"""App settings: the process environment overlaid with the `Values` of local.settings.json."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devhost.functions.errors import StartError

_NAME = re.compile(r"%([^%]*)%")


def read_document(path: Path) -> dict[str, Any]:
    """A local.settings.json. Raises StartError with what is wrong."""
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise StartError(
            f"{path}: cannot be read ({error.strerror}); give --settings a local.settings.json"
        ) from None
    except ValueError as error:
        raise StartError(f"{path}: is not JSON ({error})") from None
    if not isinstance(document, dict):
        raise StartError(f'{path}: expected a JSON object with "Values"')
    return document


def read_values(path: Path) -> dict[str, str]:
    """The `Values` of a local.settings.json. Raises StartError with what is wrong and where."""
    document = read_document(path)
    if document.get("IsEncrypted"):
        raise StartError(f"{path}: encrypted settings cannot be read; run `func settings decrypt`")
    values = document.get("Values", {})
    if not isinstance(values, dict):
        raise StartError(f'{path}: "Values" must be an object of strings')
    problems = [problem for name, value in values.items() if (problem := _problem_of(name, value))]
    if problems:
        raise StartError([f"{path}: {problem}" for problem in problems])
    return values


def _problem_of(name: str, value: object) -> str | None:
    """Why this cannot be an app setting, that is, an environment variable."""
    if not name or "=" in name:
        return f"Values: {name!r} cannot name a setting, which is not empty and holds no '='"
    if not isinstance(value, str):
        return f"Values.{name} must be a string, as an app setting is"
    try:
        text = f"{name}{value}".encode()
    except UnicodeEncodeError:
        return f"Values.{name!a} holds half of a surrogate pair, which is no text"
    return f"Values.{name!a} holds a NUL character" if b"\0" in text else None


class AppSettings:
    """Looks up app settings as binding expressions and connection names do."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def get(self, name: str) -> str | None:
        return self._environment.get(name)

    def is_true(self, name: str) -> bool:
        return (self.get(name) or "").strip().lower() in {"true", "1"}

    def resolve(self, text: str) -> str:
        """Replace each `%NAME%` by the setting NAME. Raises StartError for a missing one or a lone `%`."""

        def value_of(match: re.Match[str]) -> str:
            value = self.get(match[1])
            if not value:
                raise StartError(
                    f"'%{match[1]}%' does not resolve to a value: the app setting is missing or empty"
                )
            return value

        if text.count("%") % 2:
            raise StartError(f"The '%' at position {text.rfind('%')} of {text!r} does not have a closing '%'")
        return _NAME.sub(value_of, text)

    def resolve_all(self, binding: Mapping[str, Any]) -> dict[str, Any]:
        """A binding with every string of it resolved."""
        return {
            key: self.resolve(value) if isinstance(value, str) else value for key, value in binding.items()
        }

    def connection_string(self, name: str) -> str:
        """The connection string behind a binding's `connection`: `AzureWebJobs<name>` wins over `<name>`.

        Raises StartError when there is none. Source: WebJobsConfigurationExtensions, Azure/azure-webjobs-sdk.
        """
        for setting in (f"AzureWebJobs{name}", name):
            value = self.get(setting)
            if value:
                return value
        if self.get(f"{name}__fullyQualifiedNamespace"):
            raise StartError(
                f"connection {name!r} uses an identity ({name}__fullyQualifiedNamespace); the local host "
                f"needs a connection string in the app setting {name!r}"
            )
        raise StartError(
            f"connection {name!r}: neither app setting {name!r} nor 'AzureWebJobs{name}' holds a connection "
            "string"
        )
