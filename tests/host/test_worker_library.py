"""The app under the worker library that Azure uses from Python 3.13 on: it indexes, and every function runs.

Other Pythons index an app with less care, so this is where a binding that Azure would refuse is found.
"""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from azure.functions.meta import Datum
from azure.servicebus import ServiceBusClient, ServiceBusReceivedMessage
from standardwebhooks.webhooks import Webhook

from devhost.functions.convert import as_json, text
from devhost.functions.service_bus_message import body_of, metadata_of
from tests.host.broker import QUEUE, running_broker
from tests.support.storage import Azurite
from tests.support.worker_index import environment
from tests.support.worker_index.worker import Invocation, Worker, deploy

# The environment is made by the first test that needs it.
pytestmark = [pytest.mark.host, pytest.mark.timeout(environment.SETUP_SECONDS + 120)]

SECRET = "whsec_" + "QUFB" * 10
HTTP_FUNCTIONS = {
    "webhook": ("POST", "webhooks/{source}", "ANONYMOUS"),
    "get_job": ("GET", "jobs/{job_id}", "FUNCTION"),
    "get_result": ("GET", "jobs/{job_id}/result", "FUNCTION"),
    "list_cases": ("GET", "dead-letters", "FUNCTION"),
    "show_case": ("GET", "dead-letters/{job_id}", "FUNCTION"),
    "resubmit_case": ("POST", "dead-letters/{job_id}/resubmit", "FUNCTION"),
    "close_case": ("POST", "dead-letters/{job_id}/close", "FUNCTION"),
    "health": ("GET", "health", "ANONYMOUS"),
}
TIMER = as_json({"Schedule": {}, "ScheduleStatus": None, "IsPastDue": False})


def expected(queue: str = "ai-jobs", schedule: str = "0 * * * * *") -> dict[str, Any]:
    """Every function's bindings as the host must get them."""
    http = {name: _http_bindings(*how) for name, how in HTTP_FUNCTIONS.items()}
    timer = {"type": "timerTrigger", "direction": "IN", "name": "timer", "schedule": schedule}
    return http | {
        "run_job": [_queue_binding(queue)],
        "file_dead_letter": [_queue_binding(f"{queue}/$deadletterqueue")],
        "sweep": [timer],
    }


def _http_bindings(method: str, route: str, level: str) -> list[dict[str, Any]]:
    trigger = {"type": "httpTrigger", "direction": "IN", "name": "req"}
    answer = {"type": "http", "direction": "OUT", "name": "$return"}
    return [trigger | {"methods": [method], "route": route, "authLevel": level}, answer]


def _queue_binding(queue: str) -> dict[str, Any]:
    connection = {"connection": "ServiceBusConnection", "queueName": queue, "dataType": "BINARY"}
    return {"type": "serviceBusTrigger", "direction": "IN", "name": "message"} | connection


def bindings(worker: Worker) -> dict[str, Any]:
    assert worker.refusal is None, worker.refusal
    return {name: function["bindings"] for name, function in worker.functions.items()}


@pytest.fixture(scope="module")
def python() -> Path:
    """Python 3.13 with the worker library."""
    base = environment.find_python()
    if base is None:
        pytest.skip("the worker library needs Python 3.13: none on PATH as python3.13 nor under pyenv")
    try:
        return environment.prepare(base)
    except environment.WorkerSetupError as failure:
        pytest.fail(str(failure), pytrace=False)


@pytest.fixture(scope="module")
def bare(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """The app as deployed, without any setting."""
    with Worker(python, deploy(tmp_path_factory.mktemp("bare") / "app")) as worker:
        yield worker


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
    answer = bare.invoke(name, http(method, route, job_id="job_1", source="github"))
    assert (answer.state, answer.status) == ("returned", 503), answer.error
    assert answer.json()["code"] == "configuration_invalid"
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert int(answer.headers["retry-after"]) > 0


def test_the_log_names_the_settings_that_are_missing(bare: Worker) -> None:
    bare.invoke("health", http("GET", "health"))
    log = bare.log()
    assert all(name in log for name in ("AzureWebJobsStorage", "ServiceBusConnection")), log


@pytest.mark.parametrize("name", ["run_job", "file_dead_letter", "sweep"])
def test_without_settings_nothing_is_completed_or_failed_but_held(bare: Worker, name: str) -> None:
    if name == "sweep":
        ended = bare.invoke(name, TIMER, seconds=1)
    else:
        ended = bare.invoke(name, Datum(b"{}", "bytes"), {"MessageId": text("job_1:0:0")}, seconds=1)
    assert ended.state == "held", ended.error


WRONG = [
    pytest.param(
        "run_job(message: func.ServiceBusMessage)",
        "run_job(message: func.HttpRequest)",
        'cannot load the run_job function: type of message binding in function.json "serviceBusTrigger" '
        'does not match its Python annotation "HttpRequest"',
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


@pytest.mark.parametrize(("right", "wrong", "message"), WRONG)
def test_a_broken_app_is_refused_in_the_worker_s_words(
    python: Path, tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    with Worker(python, deploy(tmp_path / "app", replacing(right, wrong))) as worker:
        assert message in str(worker.refusal)
        assert worker.functions == {}


CHANGED = [
    pytest.param(
        "run_job", "connection=CONNECTION, data_type=func.DataType.BINARY\n", "connection=CONNECTION\n"
    ),
    pytest.param("file_dead_letter", "/$deadletterqueue", "-poison"),
    pytest.param("health", '["GET"], auth_level=func.AuthLevel.ANONYMOUS', '["GET"]'),
    pytest.param("webhook", '"webhooks/{source}", methods=["POST"]', '"webhooks/{source}"'),
    pytest.param("sweep", "schedule=SWEEP_SCHEDULE", 'schedule="0 0 * * * *"'),
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


def replacing(right: str, wrong: str) -> Callable[[str], str]:
    def change(source: str) -> str:
        assert source.count(right) == 1, right
        return source.replace(right, wrong)

    return change


def http(
    method: str, route: str, body: bytes = b"", headers: dict[str, str] | None = None, **params: str
) -> Datum:
    """A request as the host hands it over: names in lower case, raw body, route parameters apart."""
    return Datum(
        {
            "method": text(method),
            "url": text("https://app.example/api/" + route.format(**params)),
            "headers": {name: text(value) for name, value in (headers or {}).items()},
            "params": {name: text(value) for name, value in params.items()},
            "query": {},
            "body": Datum(body, "bytes"),
        },
        "http",
    )


class Running:
    """The app with its settings, real storage and a real queue; the test is the host."""

    def __init__(self, worker: Worker, connection_string: str) -> None:
        self.worker = worker
        self._bus = connection_string

    def call(self, name: str, document: Any = None, **params: str) -> Invocation:
        method, route, _ = HTTP_FUNCTIONS[name]
        body = b"" if document is None else json.dumps(document).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        return self._answered(name, http(method, route, body, headers, **params))

    def deliver(self, event_id: str, kind: str, data: dict[str, str]) -> Invocation:
        """A webhook, signed by the Standard Webhooks library."""
        body = json.dumps({"type": kind, "data": data})
        now = datetime.now(UTC)
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "webhook-id": event_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(SECRET).sign(event_id, now, body),
        }
        return self._answered(
            "webhook", http("POST", "webhooks/{source}", body.encode(), headers, source="events")
        )

    def receive(self) -> ServiceBusReceivedMessage:
        """Take the only message off the queue."""
        with (
            ServiceBusClient.from_connection_string(self._bus) as client,
            client.get_queue_receiver(QUEUE) as receiver,
        ):
            (message,) = receiver.receive_messages(max_message_count=1, max_wait_time=20)
            receiver.complete_message(message)
            return message

    def hand_over(self, name: str, message: ServiceBusReceivedMessage) -> Invocation:
        return self.worker.invoke(name, body_of(message, binary=True), metadata_of(message))

    def _answered(self, name: str, request: Datum) -> Invocation:
        answer = self.worker.invoke(name, request)
        assert answer.state == "returned", answer.error
        return answer


@pytest.fixture(scope="module")
def running(python: Path, azurite: Azurite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("running")
    with running_broker(folder / "broker") as broker:
        settings = {
            "AzureWebJobsStorage": azurite.connection_string,
            "ServiceBusConnection": broker.connection_string,
            "JOBS_QUEUE": QUEUE,
            "GITHUB_WEBHOOK_SECRET": "an invented secret of the tests",
            "EVENTS_WEBHOOK_SECRET": SECRET,
        }
        with Worker(python, deploy(folder / "app"), settings) as worker:
            yield Running(worker, broker.connection_string)


def unique(name: str) -> str:
    """The storage is shared with other tests of this process."""
    return f"{name}-{time.time_ns()}"


def test_a_webhook_becomes_a_result(running: Running) -> None:
    note = "The harbour crane was greased in May. The crane lifts twelve tonnes."
    accepted = running.deliver(unique("note"), "note.added", {"text": note, "user": "user_204"})
    assert accepted.status == 202, accepted.body
    job_id = accepted.json()["job_id"]

    ran = running.hand_over("run_job", running.receive())

    assert ran.state == "returned", ran.error
    assert running.call("get_job", job_id=job_id).json()["status"] == "succeeded"
    result = running.call("get_result", job_id=job_id)
    assert (result.status, b"crane" in result.body) == (200, True)


def test_a_dead_job_is_raised_to_the_host_filed_resubmitted_and_closed(running: Running) -> None:
    missing = {"document": "inputs/documents/never-written.pdf", "user": "user_204"}
    job_id = running.deliver(unique("missing"), "document.added", missing).json()["job_id"]
    message = running.receive()

    assert_dead(running.hand_over("run_job", message), job_id)
    filed = running.hand_over("file_dead_letter", message)
    assert filed.state == "returned", filed.error
    listed = running.call("list_cases").json()["cases"]
    assert job_id in [case["job_id"] for case in listed]
    assert running.call("show_case", job_id=job_id).json()["failure"]["code"] == "input_missing"

    decision = {"operator": "on-call", "reason": "The document is there now."}
    released = running.call("resubmit_case", decision, job_id=job_id)
    assert (released.status, released.json()["release"]) == (202, 1), released.body
    message = running.receive()
    assert_dead(running.hand_over("run_job", message), job_id)
    assert running.hand_over("file_dead_letter", message).state == "returned"
    closed = running.call("close_case", decision, job_id=job_id)
    assert closed.status == 200, closed.body
    assert running.call("get_job", job_id=job_id).json()["status"] == "closed"


def assert_dead(ended: Invocation, job_id: str) -> None:
    assert ended.state == "raised"
    assert "DeadLettered" in str(ended.error)
    assert job_id in str(ended.error)


def test_an_unreadable_message_is_raised_to_the_host(running: Running) -> None:
    ended = running.worker.invoke("run_job", Datum(b"\xff\x00 no JSON", "bytes"), {"MessageId": text("m-1")})
    assert ended.state == "raised", ended.value


def test_the_sweep_ends_well(running: Running) -> None:
    ended = running.worker.invoke("sweep", TIMER)
    assert ended.state == "returned", ended.error


def test_health_is_ok_with_storage_and_bus_up(running: Running) -> None:
    answer = running.call("health")
    assert (answer.status, answer.json()) == (200, {"status": "ok"}), answer.body
