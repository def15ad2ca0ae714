"""How each part of the local stack is started."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from devhost import paths
from devhost.azurite import emulator
from devhost.azurite.emulator import StoragePorts
from devhost.parts import PartSpec
from devhost.state_folder import StateFolder


def azurite(folder: StateFolder, ports: StoragePorts, *, in_memory: bool = False) -> PartSpec:
    """Azurite with its data in the state folder, or in its memory only."""
    data, log = folder.path / "azurite", folder.fresh_log("azurite")
    return emulator.spec(paths.AZURITE_HOME, data, ports, log, in_memory=in_memory)


def broker(folder: StateFolder, queues: Path, port: int, clock: Path | None = None) -> PartSpec:
    """The local broker; it says its port and connection string when ready, and follows the file `clock`."""
    data = folder.path / "broker"
    data.mkdir(exist_ok=True)
    arguments: list[object] = ["--config", queues, "--port", port, "--data", data]
    if clock is not None:
        arguments += ["--clock", clock]
    return _python("broker", "devhost.servicebus", arguments, folder)


def outside(folder: StateFolder, port: int) -> PartSpec:
    """The providers' stand-in; what happened there is kept in the state folder."""
    return _python(
        "outside", "devhost.outside", ["--port", port, "--state", folder.path / "outside.jsonl"], folder
    )


def host(
    folder: StateFolder,
    app: Path,
    port: int,
    settings: Path,
    keys: Path,
    plugins: Sequence[str],
    worker_python: Path | None = None,
) -> PartSpec:
    """The local Functions host, under a Python with the worker library if one is given.

    It says its address when ready.
    """
    state = folder.path / "host"
    state.mkdir(exist_ok=True)
    arguments: list[object] = ["--app", app, "--port", port, "--settings", settings, "--keys", keys]
    arguments += ["--state", state]
    for plugin in plugins:
        arguments += ["--plugin", plugin]
    if worker_python is None:
        return _python("host", "devhost.functions", arguments, folder)
    return _python("host", "devhost.functions", [*arguments, "--worker", "library"], folder, worker_python)


def _python(
    name: str, module: str, arguments: Sequence[object], folder: StateFolder, python: Path | None = None
) -> PartSpec:
    return PartSpec(
        name=name,
        command=[str(python or sys.executable), "-m", module, *map(str, arguments)],
        read_ready=_read_json_line,
        log=folder.fresh_log(name),
        cwd=paths.ROOT,
        env={"PYTHONUNBUFFERED": "1"},
    )


def _read_json_line(line: str) -> Mapping[str, object] | None:
    try:
        document = json.loads(line)
    except ValueError:
        return None
    return document if isinstance(document, dict) and "port" in document else None
