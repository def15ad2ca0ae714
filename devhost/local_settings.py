"""The files a local stack is started from: settings, function keys and queues."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devhost.credentials import Credentials


class SettingsFileError(RuntimeError):
    """A settings or queue file could not be used; the text says which and why."""


def read_values(file: Path) -> dict[str, str]:
    """The `Values` of a file in the form of `local.settings.json`."""
    document = _read_json(file)
    values = document.get("Values")
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise SettingsFileError(f'{file}: expected an object "Values" with text values only.')
    if document.get("IsEncrypted"):
        raise SettingsFileError(
            f'{file}: "IsEncrypted" must be false; encrypted settings cannot be read here.'
        )
    return dict(values)


def compose(
    sample: Path | None, credentials: Credentials, overlay: Path | None, fixed: Mapping[str, str]
) -> dict[str, str]:
    """Sample values, generated secrets over them, then the user's file, then what the stack decides."""
    values = read_values(sample) if sample is not None else {}
    values.update(credentials.settings)
    if overlay is not None:
        values.update(read_values(overlay))
    values.update(fixed)
    return values


def settings_document(values: Mapping[str, str]) -> dict[str, object]:
    """The content of a settings file with these values."""
    return {"IsEncrypted": False, "Values": dict(values)}


def keys_document(credentials: Credentials) -> dict[str, object]:
    """The content of the host's key file: one host-wide function key, and the master key."""
    return {"master": credentials.master_key, "default": credentials.operator_key, "functions": {}}


def queue_document(file: Path, overrides: Mapping[str, object]) -> dict[str, Any]:
    """A queue configuration with `overrides` in every queue's properties, such as a short `LockDuration`."""
    document = _read_json(file)
    try:
        for namespace in document["UserConfig"]["Namespaces"]:
            for queue in namespace["Queues"]:
                queue.setdefault("Properties", {}).update(overrides)
    except (KeyError, TypeError, AttributeError) as fault:
        raise SettingsFileError(f"{file}: expected UserConfig.Namespaces[].Queues[].Properties.") from fault
    return document


def _read_json(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as fault:
        raise SettingsFileError(f"{file} cannot be read: {fault.strerror}.") from fault
    except ValueError as fault:
        raise SettingsFileError(f"{file} is not valid JSON: {fault}.") from fault
    if not isinstance(document, dict):
        raise SettingsFileError(f"{file}: expected a JSON object.")
    return document
