"""The app under the worker library that Azure uses from Python 3.13 on: it indexes, and every function runs.

Indexing on other Pythons checks less, so this is where a binding that Azure would refuse is found.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.support import host_worker
from tests.support.storage import Azurite
from tests.support.worker_index import environment
from tests.support.worker_index.bindings import HTTP_FUNCTIONS, expected
from tests.support.worker_index.inputs import TIMER, http, unreadable_message
from tests.support.worker_index.running import Running, running_app
from tests.support.worker_index.worker import Invocation, Worker, deploy

# The first test that needs the environment waits until it is made.
pytestmark = [pytest.mark.host, pytest.mark.timeout(environment.SETUP_SECONDS + 600)]


@pytest.fixture(scope="module")
def python() -> Path:
    """Python 3.13 with the worker library."""
    return host_worker.library_python()


@pytest.fixture(scope="module")
def bare(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """The app as deployed, without any setting."""
    with Worker(python, deploy(tmp_path_factory.mktemp("bare") / "app")) as worker:
        yield worker


@pytest.fixture(scope="module")
def running(python: Path, azurite: Azurite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The app with its settings, storage and queue."""
    with running_app(python, tmp_path_factory.mktemp("running"), azurite.connection_string) as app:
        yield app


def bindings(worker: Worker) -> dict[str, Any]:
    assert worker.refusal is None, worker.refusal
    return {name: function["bindings"] for name, function in worker.functions.items()}


def test_every_function_is_indexed_without_any_setting(bare: Worker) -> None:
    assert bindings(bare) == expected()


def test_no_function_has_a_retry_policy_which_service_bus_triggers_would_ignore(bare: Worker) -> None:
    assert bare.functions
    assert not any(function["retries"] for function in bare.functions.values())


def test_queue_and_schedule_come_from_their_settings(python: Path, tmp_path: Path) -> None:
    settings = {"JOBS_QUEUE": "jobs-of-june", "SWEEP_SCHEDULE": "*/30 * * * * *"}
    with Worker(python, deploy(tmp_path / "app"), settings) as worker:
        assert bindings(worker) == expected("jobs-of-june", "*/30 * * * * *")


def test_empty_settings_count_as_none(python: Path, tmp_path: Path) -> None:
    with Worker(python, deploy(tmp_path / "app"), {"JOBS_QUEUE": "", "SWEEP_SCHEDULE": ""}) as worker:
        assert bindings(worker) == expected()


@pytest.mark.parametrize("name", HTTP_FUNCTIONS)
def test_without_settings_an_http_function_answers_503(bare: Worker, name: str) -> None:
    method, route, _ = HTTP_FUNCTIONS[name]
    answer = bare.invoke(
        name, http(method, route, {"job_id": "job_1", "source": "github", "name": "a.txt", "token": "t"})
    )
    assert (answer.state, answer.status) == ("returned", 503), answer.error
    assert answer.json()["code"] == "configuration_invalid"
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert int(answer.headers["retry-after"]) > 0


def test_the_log_names_the_settings_that_are_missing(bare: Worker) -> None:
    bare.invoke("health", http("GET", "health", {}))
    log = bare.log()
    assert all(name in log for name in ("AzureWebJobsStorage", "ServiceBusConnection")), log


@pytest.mark.parametrize("name", ["run_job", "file_dead_letter"])
def test_without_settings_a_message_is_neither_done_nor_failed_but_held(bare: Worker, name: str) -> None:
    ended = bare.invoke(name, *unreadable_message(), seconds=1)
    assert ended.state == "held", ended.error


def test_without_settings_a_tick_fails_and_leaves_it_to_the_next(bare: Worker) -> None:
    ended = bare.invoke("sweep", TIMER)
    assert ended.state == "raised"
    assert "ConfigurationError" in str(ended.error)


def test_a_webhook_becomes_a_result(running: Running) -> None:
    note = "The harbour crane was greased in May. The crane lifts twelve tonnes."
    accepted = running.deliver(f"note-{uuid4()}", "note.added", {"text": note, "user": "user_204"})
    assert accepted.status == 202, accepted.body
    job_id = accepted.json()["job_id"]

    ran = running.hand_over("run_job", running.take())

    assert ran.state == "returned", ran.error
    assert running.call("get_job", job_id=job_id).json()["status"] == "succeeded"
    result = running.call("get_result", job_id=job_id)
    assert result.status == 200
    assert b"crane" in result.body


def test_a_dead_job_is_raised_filed_resubmitted_and_closed(running: Running) -> None:
    missing = {"document": "inputs/documents/never-written.pdf", "user": "user_204"}
    job_id = running.deliver(f"missing-{uuid4()}", "document.added", missing).json()["job_id"]
    message = running.take()

    assert_dead(running.hand_over("run_job", message), job_id)
    filed = running.hand_over("file_dead_letter", message)
    assert filed.state == "returned", filed.error
    assert job_id in [case["job_id"] for case in running.call("list_cases").json()["cases"]]
    assert running.call("show_case", job_id=job_id).json()["failure"]["code"] == "document_missing"

    decision = {"operator": "on-call", "reason": "The document is there now."}
    released = running.call("resubmit_case", decision, job_id=job_id)
    assert (released.status, released.json()["release"]) == (202, 1), released.body
    message = running.take()
    assert_dead(running.hand_over("run_job", message), job_id)
    assert running.hand_over("file_dead_letter", message).state == "returned"
    assert running.call("close_case", decision, job_id=job_id).status == 200
    assert running.call("get_job", job_id=job_id).json()["status"] == "closed"


def assert_dead(ended: Invocation, job_id: str) -> None:
    assert ended.state == "raised"
    assert "DeadLettered" in str(ended.error)
    assert job_id in str(ended.error)


def test_an_unreadable_message_is_raised_to_the_host(running: Running) -> None:
    ended = running.worker.invoke("run_job", *unreadable_message())
    assert ended.state == "raised"
    assert "UnreadableMessage" in str(ended.error)


def test_the_sweep_ends_well(running: Running) -> None:
    ended = running.worker.invoke("sweep", TIMER)
    assert ended.state == "returned", ended.error


def test_health_is_ok_with_storage_and_bus_up(running: Running) -> None:
    answer = running.call("health")
    assert (answer.status, answer.json()) == (200, {"status": "ok"})


def replacing(right: str, wrong: str) -> Callable[[str], str]:
    """A change of one place in function_app.py, which must be there."""

    def change(source: str) -> str:
        assert source.count(right) == 1, right
        return source.replace(right, wrong)

    return change


BROKEN = [
    pytest.param(
        "run_job(message: func.ServiceBusMessage)",
        "run_job(message: func.HttpRequest)",
        'cannot load the run_job function: binding type "\'message\'" and dataType "serviceBusTrigger" in'
        " the binding decorator do not match the corresponding function parameter's Python type annotation",
        id="wrong annotation",
    ),
    pytest.param(
        "get_job(req: func.HttpRequest)",
        "get_job(request: func.HttpRequest)",
        "cannot load the get_job function: the following parameters are declared in Python",
        id="parameter that no binding names",
    ),
    pytest.param(
        "async def get_result(",
        "async def get_job(",
        "Function get_job does not have a unique function name",
        id="two functions of one name",
    ),
    pytest.param(
        "\napp = func.FunctionApp(",
        "\nother = func.FunctionApp()\napp = func.FunctionApp(",
        "More than one FunctionApp",
        id="two apps",
    ),
    pytest.param(
        "import os\n",
        "import os\nimport devhost.paths\n",
        "No module named 'devhost'",
        id="import of what is not deployed",
    ),
]


@pytest.mark.parametrize(("right", "wrong", "message"), BROKEN)
def test_a_broken_app_is_refused_in_the_worker_s_words(
    python: Path, tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    with Worker(python, deploy(tmp_path / "app", replacing(right, wrong))) as worker:
        assert message in str(worker.refusal)
        assert worker.functions == {}


CHANGED = [
    pytest.param(
        "run_job",
        "queue_name=JOBS_QUEUE, connection=CONNECTION, data_type=func.DataType.BINARY",
        "queue_name=JOBS_QUEUE, connection=CONNECTION",
        id="data type",
    ),
    pytest.param("file_dead_letter", "/$deadletterqueue", "-poison", id="queue"),
    pytest.param("health", '["GET"], auth_level=func.AuthLevel.ANONYMOUS', '["GET"]', id="key level"),
    pytest.param("get_job", '"jobs/{job_id}", methods=["GET"]', '"jobs/{job_id}"', id="methods"),
    pytest.param("close_case", "/close", "/shut", id="route"),
    pytest.param("sweep", "schedule=SWEEP_SCHEDULE", 'schedule="0 0 * * * *"', id="schedule"),
]


@pytest.mark.parametrize(("name", "right", "wrong"), CHANGED)
def test_a_changed_binding_is_noticed(
    python: Path, tmp_path: Path, name: str, right: str, wrong: str
) -> None:
    with Worker(python, deploy(tmp_path / "app", replacing(right, wrong))) as worker:
        found, wanted = bindings(worker), expected()
    assert [each for each in wanted if found[each] != wanted[each]] == [name]


def test_an_app_without_functions_is_noticed(python: Path, tmp_path: Path) -> None:
    with Worker(python, deploy(tmp_path / "app", lambda _: "")) as worker:
        assert worker.functions == {}
