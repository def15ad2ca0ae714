"""The local stack: Azurite, the broker, the Functions host and the outside, for `dev.py` and for tests.

Each part is a process of its own that can be killed, frozen, cut off and restarted alone. Methods block;
call them through `asyncio.to_thread` where an event loop must go on.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devhost import recipes
from devhost.azurite import emulator
from devhost.azurite.emulator import StoragePorts
from devhost.credentials import Credentials, Source, load_or_create, read_sources, write_private
from devhost.faults.clock import BrokerClock
from devhost.faults.failpoints import FOLDER_SETTING
from devhost.faults.proxy import Proxy
from devhost.guardian import Guardian
from devhost.links import Links
from devhost.local_settings import compose, keys_document, queue_document, settings_document
from devhost.outside import Remote
from devhost.parts import PartError, PartSpec, last_lines
from devhost.ports import LOOPBACK, free_ports, kept_port
from devhost.stack_options import Part, StackOptions
from devhost.state_folder import StateFolder
from devhost.supervisor import Report, Supervised

__all__ = ["Part", "Stack", "StackOptions"]

_START_SECONDS = 90.0
_SHOWN_LINES = 20
_PORT_TAKEN = ("eaddrinuse", "address already in use", "is taken")


_STOPPING = (Part.HOST, Part.OUTSIDE, Part.BROKER, Part.AZURITE)
_GRACE_SECONDS = {Part.HOST: 65.0, Part.OUTSIDE: 10.0, Part.BROKER: 20.0, Part.AZURITE: 30.0}


class Stack:
    """A running local stack; a context manager that leaves nothing running."""

    def __init__(self, options: StackOptions, report: Report | None = None) -> None:
        """Prepare; nothing runs and nothing is written yet."""
        self.options = options
        self.storage = ""
        self.servicebus = ""
        self.url = ""
        self.client_url = ""
        """The host's address for clients: through the proxy `host` if there is one."""
        self.values: dict[str, str] = {}
        self.failpoints = options.state / "failpoints"
        self._links = Links()
        self._clock_file = options.state / "clock.json"
        self.sources: list[Source] = []
        self._credentials = Credentials("", "", {})
        self._report = report or _to_stderr
        self._parts: dict[Part, Supervised] = {}
        self._folder: StateFolder | None = None
        self._guardian: Guardian | None = None
        self._storage_ports = StoragePorts(0, 0, 0)
        self._broker_port = 0
        self._outside_url = f"http://{LOOPBACK}:1"

    @property
    def outside(self) -> Remote:
        """What providers stand there, if the part `OUTSIDE` is there: what they count, and their faults."""
        self._of(Part.OUTSIDE)
        return Remote(self._outside_url)

    @property
    def proxies(self) -> Mapping[str, Proxy]:
        """The proxies by name: `blob`, `table`, `queue`, `broker`, `host`, and each setting of `outside`."""
        return self._links.proxies

    @property
    def clock(self) -> BrokerClock:
        """Moves the broker's time; needs `StackOptions(clock=True)`."""
        if not self.options.clock:
            raise PartError("The broker runs by the system's time: start the stack with clock=True.")
        return BrokerClock(self._clock_file)

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
        return {part.value: self._of(part).pid for part in _STOPPING if part in self.options.parts}

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
        """Start the parts that are wanted, each when the one before is ready."""
        self._folder = StateFolder(self.options.state)
        self._guardian = Guardian()
        self.sources = read_sources(self.options.pipeline) if self.options.pipeline else []
        self._credentials = load_or_create(self.options.state / "credentials.json", self.sources)
        self._check_settings()
        self.failpoints.mkdir(exist_ok=True)
        for old in self.failpoints.iterdir():
            old.unlink()
        start = {
            Part.AZURITE: self._start_storage,
            Part.BROKER: self._start_broker,
            Part.OUTSIDE: self._start_outside,
            Part.HOST: self._start_host,
        }
        for part in Part:
            if part in self.options.parts:
                start[part]()

    def stop(self) -> None:
        """The host drains first, then the others end. Safe to call twice."""
        try:
            for part in _STOPPING:
                if part in self._parts:
                    self._parts[part].stop(_GRACE_SECONDS[part])
        finally:
            self._links.close()
            if self._guardian is not None:
                self._guardian.close()
                self._guardian = None
            if self._folder is not None:
                self._folder.release()
                self._folder = None

    def lives(self, part: Part) -> int:
        """How often the part has been started."""
        return self._of(part).lives

    def pid(self, part: Part) -> int:
        """The process id of the part now."""
        return self._of(part).pid

    def log(self, part: Part) -> Path:
        """Everything the part wrote."""
        return self._of(part).spec.log

    def last_lines(self, part: Part) -> str:
        """The end of the part's log."""
        return last_lines(self.log(part), _SHOWN_LINES)

    def wait_ready(self, part: Part, timeout: float = _START_SECONDS) -> None:
        """Wait until the part is ready, through restarts."""
        self._of(part).wait_ready(timeout)

    def kill(self, part: Part, *, restart: bool = True) -> None:
        """SIGKILL. The supervisor starts it again at once unless `restart` is false (then `resume` does)."""
        self._of(part).kill(restart=restart)

    def end(self, part: Part) -> None:
        """SIGTERM and wait; it stays down until `resume`."""
        self._of(part).stop(_GRACE_SECONDS[part])

    def resume(self, part: Part) -> None:
        """Start a part that is down, on the port it had, and wait until it is ready."""
        self._of(part).start(_START_SECONDS)

    def restart(self, part: Part) -> None:
        """End the part in order and start it again."""
        self.end(part)
        self.resume(part)

    def freeze(self, part: Part) -> None:
        """SIGSTOP: the process keeps its connections and answers nothing. Not on Windows."""
        self._of(part).freeze()

    def thaw(self, part: Part) -> None:
        """SIGCONT."""
        self._of(part).thaw()

    def _of(self, part: Part) -> Supervised:
        if part not in self._parts:
            raise PartError(
                f"This stack has no {part} now; its parts are {', '.join(self._parts) or 'none'}."
            )
        return self._parts[part]

    def _start_storage(self) -> None:
        def make(folder: StateFolder) -> PartSpec:
            self._storage_ports = emulator.free_storage_ports()
            in_memory = self.options.storage_in_memory
            return recipes.azurite(folder, self._storage_ports, in_memory=in_memory)

        self._launch(Part.AZURITE, make)
        ports = self._storage_ports
        self.storage = emulator.connection_string(ports.blob, ports.table, ports.queue)

    def _start_broker(self) -> None:
        queues = self.options.state / "servicebus.json"
        write_private(queues, queue_document(self.options.queues, self.options.queue_properties))
        clock = self._clock_file if self.options.clock else None
        ready = self._launch(
            Part.BROKER, lambda folder: recipes.broker(folder, queues, free_ports(1)[0], clock)
        )
        self.servicebus = str(ready["connection_string"])
        self._broker_port = int(ready["port"])

    def _start_outside(self) -> None:
        # What it made names its address (links to videos), so the next start finds it where it was.
        kept = self.options.state / "outside.port"
        ready = self._launch(Part.OUTSIDE, lambda folder: recipes.outside(folder, kept_port(kept)))
        self._outside_url = str(ready["url"])

    def _start_host(self) -> None:
        options, settings, keys = (
            self.options,
            self.options.state / "settings.json",
            self.options.state / "keys.json",
        )
        self.values = self._compose(*self._addresses_for_host(), self._outside_for_host())
        write_private(settings, settings_document(self.values))
        write_private(keys, keys_document(self._credentials))
        plugins = (["devhost.faults.plugin"] if options.failpoints else []) + list(options.plugins)

        def make(folder: StateFolder) -> PartSpec:
            port = options.http_port or free_ports(1)[0]
            return recipes.host(folder, options.app, port, settings, keys, plugins, options.worker_python)

        self.url = str(self._launch(Part.HOST, make)["url"])
        self.client_url = self._links.host(self.url) if options.proxied else self.url

    def _check_settings(self) -> None:
        values = self._compose("not started yet", "not started yet", self._addresses_outside())
        if self.options.check is not None:
            self.options.check(values)

    def _compose(self, storage: str, servicebus: str, outside: Mapping[str, str]) -> dict[str, str]:
        options = self.options
        fixed: dict[str, str] = {}
        if Part.AZURITE in options.parts:
            fixed["AzureWebJobsStorage"] = storage
        if Part.BROKER in options.parts:
            fixed["ServiceBusConnection"] = servicebus
        if options.pipeline is not None:
            fixed["AFTERHOOK_PIPELINE"] = str(options.pipeline)
        for name, value in options.extra_settings.items():
            fixed[name] = value.replace("{servicebus}", servicebus).replace("{storage}", storage)
        fixed.update(outside)
        if options.failpoints:
            fixed[FOLDER_SETTING] = str(self.failpoints)
        return compose(options.sample, self._credentials, options.settings, fixed)

    def _addresses_for_host(self) -> tuple[str, str]:
        parts, storage, servicebus = self.options.parts, self.storage, self.servicebus
        if self.options.proxied and Part.AZURITE in parts:
            storage = self._links.storage(self._storage_ports)
        if self.options.proxied and Part.BROKER in parts:
            servicebus = self._links.servicebus(servicebus, self._broker_port)
        return storage, servicebus

    def _outside_for_host(self) -> Mapping[str, str]:
        outside = self._addresses_outside()
        return self._links.outside(outside) if self.options.proxied else outside

    def _addresses_outside(self) -> dict[str, str]:
        url = self._outside_url
        return {name: text.replace("{outside}", url) for name, text in self.options.outside.items()}

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
