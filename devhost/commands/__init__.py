"""The commands of `dev.py`, run in `.venv`."""

from collections.abc import Callable, Sequence
from importlib import import_module

from devhost.azurite.install import AzuriteError
from devhost.commands.running import NotRunningError
from devhost.commands.signing import RequestError
from devhost.configuration_check import ConfigurationRefusedError
from devhost.credentials import CredentialsReadError, PipelineReadError
from devhost.local_settings import SettingsFileError
from devhost.parts import PartError
from devhost.ports import NoFreePortError
from devhost.progress import say
from devhost.state_folder import StateFolderError, StateInUseError
from devhost.system import SYSTEM

MODULES = {
    "demo": "devhost.commands.demo",
    "up": "devhost.commands.up",
    "send": "devhost.commands.send",
    "sign": "devhost.commands.sign",
    "test": "devhost.commands.checks",
    "bench": "devhost.commands.bench",
}

PROBLEMS = (
    AzuriteError,
    ConfigurationRefusedError,
    CredentialsReadError,
    NoFreePortError,
    NotRunningError,
    PartError,
    PipelineReadError,
    RequestError,
    SettingsFileError,
    StateFolderError,
    StateInUseError,
)
"""What a person can do something about: shown as a sentence, without a traceback."""


def run(arguments: Sequence[str]) -> int:
    """Run one of the commands with its options; its exit code."""
    SYSTEM.interrupt_on_stop()
    try:
        return _dispatch(list(arguments))
    except PROBLEMS as problem:
        say(str(problem))
        return 1
    except KeyboardInterrupt:
        say("Stopped.")
        return 130


def _dispatch(arguments: list[str]) -> int:
    name, *rest = arguments
    command: Callable[[Sequence[str]], int] = import_module(MODULES[name]).main
    return command(rest)
