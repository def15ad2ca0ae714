"""The host's own worker against Azure's worker library: the same small apps, the same outcomes, word by word.

What an app can notice of a worker is in apps.txt: bodies, headers, parameters, metadata, context, threads,
the `$return` rule, results of nothing, exceptions, escaped cancellations, and what is refused at the start.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from devhost.functions.worker.choice import WorkerKind
from tests.host.harness import REPOSITORY
from tests.support import host_worker
from tests.support.worker_index import environment
from tests.support.worker_index.apps import SmallApp, read_apps

pytestmark = [pytest.mark.host, pytest.mark.timeout(environment.SETUP_SECONDS + 600)]

APPS = read_apps()
Outcomes = dict[str, dict[str, Any]]
_PATHS = re.compile(r" \(/[^)]*\)| Current sys\.path: .*", re.DOTALL)


def _script(app: SmallApp) -> str:
    return f"app_{APPS.index(app):03}.py"


def _outcomes(python: Path, worker: WorkerKind, folder: Path) -> Outcomes:
    folder.mkdir()
    for app in APPS:
        script = folder / _script(app)
        script.write_text(app.source, encoding="utf-8")
        given = {"settings": app.settings, "call": app.expected != "indexed"}
        script.with_suffix(".json").write_text(json.dumps(given))
    command = [str(python), "-m", "tests.support.worker_index.outcomes", worker.value, str(folder)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    outcomes: Outcomes = json.loads(done.stdout)
    return outcomes


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """Azure's library on Python 3.13."""
    folder = tmp_path_factory.mktemp("library") / "apps"
    return _outcomes(host_worker.library_python(), WorkerKind.LIBRARY, folder)


@pytest.fixture(scope="module")
def own_beside_it(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """The own worker on the same Python with the same packages."""
    folder = tmp_path_factory.mktemp("beside") / "apps"
    return _outcomes(host_worker.library_python(), WorkerKind.OWN, folder)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """The own worker on the Python of the tests."""
    return _outcomes(Path(sys.executable), WorkerKind.OWN, tmp_path_factory.mktemp("own") / "apps")


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_both_workers_make_the_same_of(
    app: SmallApp, own: Outcomes, own_beside_it: Outcomes, library: Outcomes
) -> None:
    script = _script(app)
    assert _plain(own_beside_it[script]) == _plain(library[script])
    assert _plain(own[script]) == _plain(library[script])
    assert own_beside_it[script].get("calls") == library[script].get("calls")


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_the_library_does_what_is_expected_of(app: SmallApp, library: Outcomes) -> None:
    outcome = library[_script(app)]
    if app.expected in {"refused", "indexed"}:
        assert ("refused" in outcome) is (app.expected == "refused")
    else:
        assert outcome["calls"]
        assert {next(iter(call)) for call in outcome["calls"]} == {app.expected}, outcome


def _plain(outcome: dict[str, Any]) -> dict[str, Any]:
    """Without the folders of the run, and without the traces: Python 3.11 loses that of a TimeoutError."""
    if "refused" in outcome:
        return {"refused": [_PATHS.sub("", problem) for problem in outcome["refused"]]}
    calls = [{key: call[key] for key in call if key != "traced"} for call in outcome["calls"]]
    return {"functions": outcome["functions"], "calls": calls}
