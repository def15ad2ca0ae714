"""The local stack: Azurite, the broker and the Functions host, for `dev.py` and for tests.

Each part is a process of its own that can be killed, frozen, cut off and restarted alone. Methods block;
call them through `asyncio.to_thread` where an event loop must go on.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devhost import paths, recipes
from devhost.azurite import emulator
from devhost.azurite.emulator import StoragePorts
from devhost.credentials import Credentials, Source, load_or_create, read_sources, write_private
from devhost.faults.failpoints import FOLDER_SETTING
from devhost.faults.proxy import Proxy
from devhost.guardian import Guardian
from devhost.local_settings import compose, keys_document, queue_document, settings_document
from devhost.parts import PartError, PartSpec, last_lines
from devhost.ports import free_ports
from devhost.state_folder import StateFolder
from devhost.supervisor import Report, Supervised

_START_SECONDS = 90.0
_SHOWN_LINES = 20
_PORT_TAKEN = ("eaddrinuse", "address already in use", "is taken")


class Part(StrEnum):
    """The three processes."""

    AZURITE = "azurite"
    BROKER = "broker"
    HOST = "host"


_GRACE_SECONDS = {Part.HOST: 65.0, Part.BROKER: 10.0, Part.AZURITE: 15.0}


@dataclass(frozen=True, slots=True)
class StackOptions:
    """What to start. Everything the stack writes goes under `state`."""

    state: Path = paths.DEFAULT_STATE
    app: Path = paths.ROOT
    pipeline: Path = paths.PIPELINE
    settings: Path | None = None
    """A file of the user's in the form of `local.settings.json`, laid over the sample."""
    extra_settings: Mapping[str, str] = field(default_factory=dict)
    queues: Path = paths.QUEUE_CONFIG
    queue_properties: Mapping[str, object] = field(default_factory=dict)
    """Laid over every queue's properties, such as `{"LockDuration": "PT5S"}`."""
    check: Callable[[Mapping[str, str]], None] | None = None
    """Called with the app's settings before any part is started; what it raises is `Stack.start`'s error."""
    http_port: int | None = None
    failpoints: bool = False
    """Load the fault plugin into the host; its folder is `Stack.failpoints`."""
    worker_python: Path | None = None
    """A Python with Azure's worker library: the host runs under it, and the library indexes and invokes."""
    proxied: bool = False
    """Let the host reach storage and broker through `Stack.proxies` only."""


class Stack:
    """A running local stack; a context manager that leaves nothing running."""

    def __init__(self, options: StackOptions, report: Report | None = None) -> None:
        """Prepare; nothing runs and nothing is written yet."""
        self.options = options
        self.storage = ""
        self.servicebus = ""
        self.url = ""
        self.values: dict[str, str] = {}
        self.proxies: dict[str, Proxy] = {}
        self.failpoints = options.state / "failpoints"
        self.sources: list[Source] = []
        self._credentials = Credentials("", "", {})
        self._report = report or _to_stderr
        self._parts: dict[Part, Supervised] = {}
        self._folder: StateFolder | None = None
        self._guardian: Guardian | None = None
        self._storage_ports = StoragePorts(0, 0, 0)
        self._broker_port = 0

    @property
    def operator_key(self) -> str:
        """The key for `x-functions-key`."""
        return self._credentials.operator_key

    @property
    def secrets(self) -> dict[str, str]:
        """The current webhook secret of each source that has one."""
        return {
            source.name: self.values[source.secret_settings[0]]
            for source in self.sources
            if source.secret_settings
        }

    @property
    def pids(self) -> dict[str, int]:
        """The process ids of the lives that run now."""
        return {part.value: self._parts[part].pid for part in (Part.HOST, Part.BROKER, Part.AZURITE)}

    def __enter__(self) -> Self:
        """Start everything and wait until it is ready."""
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything."""
        self.stop()

    def start(self) -> None:
        """Start Azurite, the broker and the host, in that order, and wait until each is ready."""
        self._folder = StateFolder(self.options.state)
        self._guardian = Guardian()
        self.sources = read_sources(self.options.pipeline)
        self._credentials = load_or_create(self.options.state / "credentials.json", self.sources)
        self._check_settings()
        self.failpoints.mkdir(exist_ok=True)
        for old in self.failpoints.iterdir():
            old.unlink()
        self._start_storage()
        self._start_broker()
        self._start_host()

    def stop(self) -> None:
        """The host drains first, then the broker and Azurite end. Safe to call twice."""
        try:
            for part in (Part.HOST, Part.BROKER, Part.AZURITE):
                if part in self._parts:
                    self._parts[part].stop(_GRACE_SECONDS[part])
        finally:
            for proxy in self.proxies.values():
                proxy.close()
            self.proxies.clear()
            if self._guardian is not None:
                self._guardian.close()
                self._guardian = None
            if self._folder is not None:
                self._folder.release()
                self._folder = None

    def lives(self, part: Part) -> int:
        """How often the part has been started."""
        return self._parts[part].lives

    def pid(self, part: Part) -> int:
        """The process id of the part now."""
        return self._parts[part].pid

    def log(self, part: Part) -> Path:
        """Everything the part wrote."""
        return self._parts[part].spec.log

    def last_lines(self, part: Part) -> str:
        """The end of the part's log."""
        return last_lines(self.log(part), _SHOWN_LINES)

    def wait_ready(self, part: Part, timeout: float = _START_SECONDS) -> None:
        """Wait until the part is ready, through restarts."""
        self._parts[part].wait_ready(timeout)

    def kill(self, part: Part, *, restart: bool = True) -> None:
        """SIGKILL. The supervisor starts it again at once unless `restart` is false (then `resume` does)."""
        self._parts[part].kill(restart=restart)

    def end(self, part: Part) -> None:
        """SIGTERM and wait; it stays down until `resume`."""
        self._parts[part].stop(_GRACE_SECONDS[part])

    def resume(self, part: Part) -> None:
        """Start a part that is down, on the port it had, and wait until it is ready."""
        self._parts[part].start(_START_SECONDS)

    def restart(self, part: Part) -> None:
        """End the part in order and start it again."""
        self.end(part)
        self.resume(part)

    def freeze(self, part: Part) -> None:
        """SIGSTOP: the process keeps its connections and answers nothing. Not on Windows."""
        self._parts[part].freeze()

    def thaw(self, part: Part) -> None:
        """SIGCONT."""
        self._parts[part].thaw()

    def _start_storage(self) -> None:
        def make(folder: StateFolder) -> PartSpec:
            self._storage_ports = emulator.free_storage_ports()
            return recipes.azurite(folder, self._storage_ports)

        self._launch(Part.AZURITE, make)
        self.storage = emulator.connection_string(self._storage_ports.blob, self._storage_ports.table)

    def _start_broker(self) -> None:
        queues = self.options.state / "servicebus.json"
        write_private(queues, queue_document(self.options.queues, self.options.queue_properties))
        ready = self._launch(
            Part.BROKER, lambda folder: recipes.broker(folder, queues, port=free_ports(1)[0])
        )
        self.servicebus = str(ready["connection_string"])
        self._broker_port = int(ready["port"])

    def _start_host(self) -> None:
        options, settings, keys = (
            self.options,
            self.options.state / "settings.json",
            self.options.state / "keys.json",
        )
        self.values = self._compose(*self._addresses_for_host())
        write_private(settings, settings_document(self.values))
        write_private(keys, keys_document(self._credentials))
        plugins = ["devhost.faults.plugin"] if options.failpoints else []

        def make(folder: StateFolder) -> PartSpec:
            port = options.http_port or free_ports(1)[0]
            python = options.worker_python
            return recipes.host(folder, options.app, port, settings, keys, plugins, python)

        self.url = str(self._launch(Part.HOST, make)["url"])

    def _check_settings(self) -> None:
        values = self._compose("not started yet", "not started yet")
        if self.options.check is not None:
            self.options.check(values)

    def _compose(self, storage: str, servicebus: str) -> dict[str, str]:
        fixed = {
            "AzureWebJobsStorage": storage,
            "ServiceBusConnection": servicebus,
            "AFTERHOOK_PIPELINE": str(self.options.pipeline),
            **self.options.extra_settings,
        }
        if self.options.failpoints:
            fixed[FOLDER_SETTING] = str(self.failpoints)
        return compose(paths.SAMPLE_SETTINGS, self._credentials, self.options.settings, fixed)

    def _addresses_for_host(self) -> tuple[str, str]:
        if not self.options.proxied:
            return self.storage, self.servicebus
        ports = {
            "blob": self._storage_ports.blob,
            "table": self._storage_ports.table,
            "broker": self._broker_port,
        }
        for name, port in ports.items():
            self.proxies[name] = Proxy(port)
        return (
            emulator.connection_string(self.proxies["blob"].port, self.proxies["table"].port),
            self.servicebus.replace(f":{self._broker_port}", f":{self.proxies['broker'].port}"),
        )

    def _launch(self, part: Part, make: Callable[[StateFolder], PartSpec]) -> Mapping[str, Any]:
        assert self._folder is not None
        assert self._guardian is not None
        for last in (False, False, True):
            self._parts[part] = Supervised(make(self._folder), self._guardian, self._report)
            try:
                return self._parts[part].start(_START_SECONDS)
            except PartError as failure:  # another process may take a port between our look and the part's
                if last or not any(sign in str(failure).lower() for sign in _PORT_TAKEN):
                    raise
        raise AssertionError("the last try returns or raises")


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
