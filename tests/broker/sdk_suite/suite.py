"""Fetches the SDK's source distribution and runs its queue tests, unchanged, against a local broker.

`python -m tests.broker.sdk_suite` runs them all and prints what each failure says (about 8 minutes, most of
it waiting). The tests speak of Azure in three places, which `stand_ins/` takes over: the queues made for each
test, the credential, and TLS.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

STAND_INS = Path(__file__).with_name("stand_ins")
MODULES = ("test_queues.py", "async_tests/test_queues_async.py")
_HELPERS = ("utilities.py", "mocks.py", "async_tests/mocks_async.py")
_ROOT = Path(__file__).parents[3]
_FETCH_SECONDS = 120
_CLIENTS_AT_ONCE = 12


class UnavailableError(Exception):
    """The source distribution cannot be had here."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one test."""

    name: str
    outcome: str
    """passed, failed or skipped."""
    message: str = ""


def fetch(folder: Path) -> Path:
    """A folder with the SDK's test modules and their helpers. Raises `UnavailableError`."""
    wanted = f"azure-servicebus=={version('azure-servicebus')}"
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:"]
    try:
        subprocess.run(
            [*pip, "--dest", str(folder), wanted], check=True, capture_output=True, timeout=_FETCH_SECONDS
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise UnavailableError(f"pip cannot download the source of {wanted}: {error}") from error
    (archive,) = folder.glob("azure_servicebus-*.tar.gz")
    with tarfile.open(archive) as source:
        source.extractall(folder / "source", filter="data")
    (tests,) = (folder / "source").glob("*/tests")
    suite = folder / "suite"
    suite.mkdir()
    for name in (*MODULES, *_HELPERS):
        shutil.copy(tests / name, suite)
    (suite / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
    )
    return suite


def run(suite: Path, *, only: str = "", at_once: int = _CLIENTS_AT_ONCE) -> list[Result]:
    """Run the tests whose names match the `-k` expression `only`, all if there is none."""
    with _broker(suite.parent, _queues(suite)) as port:
        report = suite.parent / "report.xml"
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", *(Path(name).name for name in MODULES)),
                *("-p", "local_broker_plugin", "-p", "no:cacheprovider", "-p", "no:randomly"),
                *("-n", str(at_once), "-q", "-k", only, "--timeout", "400", f"--junitxml={report}"),
                *("-o", "junit_logging=no"),
            ],
            cwd=suite,
            env={**_environment(), "LOCAL_BROKER_PORT": str(port)},
            stdout=subprocess.DEVNULL,
            check=False,
        )
    return list(_results(report))


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(STAND_INS), str(_ROOT)))}


def _queues(suite: Path) -> Mapping[str, object]:
    """The queues that the tests ask for, read from their decorators."""
    code = (
        "import importlib, json, servicebus_preparer\n"
        f"for name in {[Path(name).stem for name in MODULES]}: importlib.import_module(name)\n"
        "print(json.dumps(servicebus_preparer.QUEUES))"
    )
    listed = subprocess.run(
        [sys.executable, "-c", code],
        cwd=suite,
        env=_environment(),
        check=True,
        capture_output=True,
        text=True,
    )
    queues: dict[str, object] = json.loads(listed.stdout.splitlines()[-1])
    return queues


@contextmanager
def _broker(folder: Path, queues: Mapping[str, object]) -> Iterator[int]:
    """A broker with these queues; its port."""
    config = folder / "servicebus.json"
    listed = [{"Name": name, "Properties": properties} for name, properties in queues.items()]
    config.write_text(json.dumps({"UserConfig": {"Namespaces": [{"Name": "sdk", "Queues": listed}]}}))
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "devhost.servicebus", "--config", str(config)),
            *("--port", "0", "--data", str(folder / "data")),
        ],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        ready: dict[str, Any] = json.loads(process.stdout.readline())
        yield ready["port"]
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def _results(report: Path) -> Iterator[Result]:
    for case in ET.parse(report).iter("testcase"):
        name = str(case.get("name")).removesuffix("[pyamqp]")
        bad = [part for part in case if part.tag in {"failure", "error"}]
        if bad:
            yield Result(name, "failed", str(bad[0].get("message")))
        elif any(part.tag == "skipped" for part in case):
            yield Result(name, "skipped")
        else:
            yield Result(name, "passed")


def counts(results: Sequence[Result]) -> dict[str, int]:
    """How many had which outcome."""
    found = [result.outcome for result in results]
    return {outcome: found.count(outcome) for outcome in ("passed", "skipped", "failed")}
