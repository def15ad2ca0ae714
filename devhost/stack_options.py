"""What a local stack is made of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from devhost import paths


class Part(StrEnum):
    """The processes, in the order in which they start."""

    AZURITE = "azurite"
    BROKER = "broker"
    OUTSIDE = "outside"
    HOST = "host"


AZURE_PARTS = frozenset({Part.AZURITE, Part.BROKER, Part.HOST})
"""What stands in for Azure."""


@dataclass(frozen=True, slots=True)
class StackOptions:
    """What to start. Everything the stack writes goes under `state`."""

    state: Path = paths.DEFAULT_STATE
    parts: frozenset[Part] = AZURE_PARTS
    """Which to start; the host gets no connection settings for one that is left out."""
    app: Path = paths.ROOT
    pipeline: Path | None = paths.PIPELINE
    """For each secret of its sources one is invented; None for an app that has no such file."""
    sample: Path | None = paths.SAMPLE_SETTINGS
    """The settings everything else is laid over; None for an app of another kind."""
    settings: Path | None = None
    """A file of the user's in the form of `local.settings.json`, laid over the sample."""
    extra_settings: Mapping[str, str] = field(default_factory=dict)
    """Laid over all; `{servicebus}` and `{storage}` in a value are replaced by the connection strings."""
    outside: Mapping[str, str] = field(default_factory=dict)
    """Settings that hold an `http://` address outside the stack: with `proxied`, through a proxy too.

    `{outside}` in a value is the address of the part `OUTSIDE`.
    """
    queues: Path = paths.QUEUE_CONFIG
    queue_properties: Mapping[str, object] = field(default_factory=dict)
    """Laid over every queue's properties, such as `{"LockDuration": "PT5S"}`."""
    check: Callable[[Mapping[str, str]], None] | None = None
    """Called with the app's settings before any part is started; what it raises is `Stack.start`'s error."""
    http_port: int | None = None
    failpoints: bool = False
    """Load the fault plugin into the host; its folder is `Stack.failpoints`."""
    plugins: tuple[str, ...] = ()
    """Further modules whose `install` the host calls before it loads the app."""
    proxied: bool = False
    """Put a proxy (`Stack.proxies`) before storage, broker, host and what is outside."""
    clock: bool = False
    """Let `Stack.clock` move the broker's time."""
    storage_in_memory: bool = False
    """Storage loses everything when it ends. On disk, it stands still for seconds while it saves hundreds of
    thousands of rows, every five seconds.
    """
    worker_python: Path | None = None
    """A Python with Azure's worker library: the host runs under it, and the library runs the functions."""
