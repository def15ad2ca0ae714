"""Start a real host process on a small app and talk to it over real sockets."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from devhost.functions.worker.choice import WorkerKind
from tests.support import host_worker
from tests.support.forking.process import popen, run

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 90.0
"""For what comes in a moment, unless the machine is busy."""
HOST_JSON: dict[str, Any] = {
    "version": "2.0",
    "extensionBundle": {"id": "Microsoft.Azure.Functions.ExtensionBundle", "version": "[4.*, 5.0.0)"},
}


def write_app(
    folder: Path,
    source: str,
    *,
    host_json: dict[str, Any] | None = None,
    values: dict[str, str] | None = None,
) -> Path:
    """Write function_app.py, host.json and local.settings.json; `source` may use `func` and `app`."""
    folder.mkdir(parents=True, exist_ok=True)
    head = 'import azure.functions as func\n\napp = func.FunctionApp(http_auth_level="ANONYMOUS")\n\n'
    (folder / "function_app.py").write_text(head + source, encoding="utf-8")
    (folder / "host.json").write_text(json.dumps(HOST_JSON | (host_json or {})), encoding="utf-8")
    settings = {"IsEncrypted": False, "Values": values or {}}
    (folder / "local.settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


@dataclass
class Answer:
    """One HTTP answer."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class HostProcess:
    """A running host; use as a context manager, which ends it."""

    app: Path
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    worker: WorkerKind | None = None
    """The one of the test run unless given."""

    def __post_init__(self) -> None:
        self._lines: list[str] = []
        self._grew = threading.Condition()
        self.ready: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self.process = popen(
            [*host_worker.command(self.worker), "--app", str(self.app), *self.arguments],
            cwd=REPOSITORY,
            env=os.environ | self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.ready = json.loads(line) if line else {}
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()

    @property
    def port(self) -> int:
        return int(self.ready["port"])

    def log(self) -> str:
        with self._grew:
            return "".join(self._lines)

    def wait_for_log(self, text: str, seconds: float = PATIENCE_SECONDS, times: int = 1) -> str:
        """Wait until the log holds `text` (`times` times) and return the log."""
        with self._grew:
            found = self._grew.wait_for(lambda: "".join(self._lines).count(text) >= times, seconds)
        assert found, f"{text!r} not in the log:\n{self.log()}"
        return self.log()

    def terminate(self, seconds: float = PATIENCE_SECONDS) -> int:
        """SIGTERM, and the exit code."""
        self.process.terminate()
        return self.wait(seconds)

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        code = self.process.wait(seconds)
        self._reader.join()
        return code

    def wait_refusing(self) -> None:
        """Wait until it takes no new connections."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS).close()
            except ConnectionRefusedError:
                return
            assert time.monotonic() < deadline, "it goes on taking connections"
            time.sleep(0.02)

    def request(
        self,
        method: str,
        target: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        **options: Any,
    ) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, target, body, headers or {}, **options)
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def raw(self, sent: bytes) -> bytes:
        """Send bytes and return what comes back until the host closes the connection.

        It resets it if some of them come when it has answered already.
        """
        received = b""
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS) as connection,
            contextlib.suppress(ConnectionResetError),
        ):
            with contextlib.suppress(BrokenPipeError):
                connection.sendall(sent)
            while piece := connection.recv(65_536):
                received += piece
        return received

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._grew:
                self._lines.append(line)
                self._grew.notify_all()


def start_fails(app: Path, *arguments: str, worker: WorkerKind | None = None) -> str:
    """Run a host that must not start: exit code 1, nothing on standard output. Returns its log."""
    done = run(
        [*host_worker.command(worker), "--app", str(app), *arguments],
        cwd=REPOSITORY,
        timeout=2 * PATIENCE_SECONDS,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    return done.stderr
