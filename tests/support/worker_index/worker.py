"""A worker process in the test's hands: what it indexed, and invocations with the host's data."""

import base64
import json
import os
import select
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from azure.functions.meta import Datum

from devhost.paths import ROOT

DRIVER = Path(__file__).with_name("driver.py")
DEPLOYED = ("function_app.py", "host.json", "pipeline.toml", "shared")
_START_SECONDS = 180
_GRACE_SECONDS = 30


def deploy(folder: Path, change: Callable[[str], str] = lambda source: source) -> Path:
    """Copy what is deployed, and nothing else, into `folder`; `change` may break function_app.py."""
    folder.mkdir(parents=True)
    for name in DEPLOYED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    app = folder / "function_app.py"
    app.write_text(change(app.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


@dataclass(frozen=True, slots=True)
class Invocation:
    """How an invocation ended: `state` is "returned", "raised" or "held" (it has not ended)."""

    state: str
    error: str | None
    value: Any

    @property
    def status(self) -> int:
        return int(self.value["status_code"][1])

    @property
    def headers(self) -> dict[str, str]:
        return {name.lower(): value for name, (_, value) in self.value["headers"].items()}

    @property
    def body(self) -> bytes:
        return base64.b64decode(self.value["body"][1])

    def json(self) -> Any:
        return json.loads(self.body)


class Worker:
    """Starts in `with`; its environment has nothing but `settings`."""

    def __init__(self, python: Path, app: Path, settings: Mapping[str, str] | None = None) -> None:
        self._command = [str(python), "-P", "-W", "error", str(DRIVER), str(app)]
        self._settings = {"PATH": os.defpath, **(settings or {})}
        self._log = app.with_name(f"{app.name}.log")
        self.refusal: str | None = None
        self.functions: dict[str, Any] = {}

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._settings,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        try:
            indexed = self._answer(_START_SECONDS)
        except BaseException:
            self.__exit__()
            raise
        self.refusal, self.functions = indexed.get("refusal"), indexed.get("functions", {})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def invoke(
        self, name: str, data: Datum, metadata: Mapping[str, Datum] | None = None, *, seconds: float = 120
    ) -> Invocation:
        """Invoke as the host does: the trigger's data, its metadata, the answer or its failure."""
        function = self.functions[name]
        trigger = next(item for item in function["bindings"] if item["type"].endswith("Trigger"))
        order = {
            "function": function["id"],
            "parameter": trigger["name"],
            "data": _wire(data),
            "metadata": {key: _wire(item) for key, item in (metadata or {}).items()},
            "seconds": seconds,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._answer(seconds + _GRACE_SECONDS)
        kind, value = answer.get("value") or (None, None)
        assert kind in {None, "http"}, kind
        return Invocation(answer["state"], answer.get("error"), value)

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], seconds)
        line = self._process.stdout.readline() if readable else ""
        assert line, f"the worker {'ended' if readable else 'did not answer'}:\n{self.log()[-4000:]}"
        answer: dict[str, Any] = json.loads(line)
        return answer


def _wire(value: Any) -> Any:
    """A Datum as `[type, value]`, bytes in base64."""
    if isinstance(value, Datum):
        return [value.type, _wire(value.value)]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _wire(item) for name, item in value.items()}
    return value
