"""A whole stack driven from outside: as a sender, an operator, and somebody who looks into storage."""

import contextlib
import hashlib
import hmac
import http.client
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.data.tables import TableServiceClient
from azure.servicebus import ServiceBusClient, ServiceBusMessage
from azure.storage.blob import BlobServiceClient

from devhost.faults.failpoints import Failpoints
from devhost.functions.worker.choice import WorkerKind
from devhost.stack import Stack
from tests.support.stacks import LOCK_DURATION, flow_stack

PIPELINE = Path(__file__).with_name("pipeline.toml")
FAST = {
    "SWEEP_SCHEDULE": "*/2 * * * * *",
    "SWEEP_GRACE_SECONDS": "4",
    "LEASE_MARGIN_SECONDS": "2",
}
TEXT = (
    "The harbour crane was greased in May. The crane lifts twelve tonnes. "
    "Its brake was changed, because the old brake slipped in rain. The next check of the crane is in October."
)
SETTLED = frozenset({"succeeded", "closed", "cancelled"})
PATIENCE_SECONDS = 90.0
PATIENT_LOCK = "PT1M"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    document: Any


class Flow:
    """One running stack with failpoints. Connection errors of a killed host are answered with status 0."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.failpoints = Failpoints(stack.failpoints)

    def deliver(
        self, event_id: str, payload: Mapping[str, Any], *, action: str = "note", source: str = "github"
    ) -> Reply:
        """A `repository_dispatch` signed as GitHub does."""
        body = json.dumps({"action": action, "client_payload": payload, "sender": {"id": 204}}).encode()
        secret = self.stack.secrets[source].encode()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "repository_dispatch",
            "X-GitHub-Delivery": event_id,
            "X-Hub-Signature-256": "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(),
        }
        return self.call("POST", f"/api/webhooks/{source}", body, headers)

    def deliver_until_accepted(self, event_id: str, payload: Mapping[str, Any], **how: str) -> str:
        """As a sender that tries again until it gets a 2xx; the job's id."""
        return str(self._until(lambda: self.deliver(event_id, payload, **how), (200, 202))["job_id"])

    def decide(self, job_id: str, action: str, key: str, **more: Any) -> Reply:
        """An operator's decision, under an Idempotency-Key."""
        document = {"operator": "on-call", "reason": "looked at it", **more}
        return self.post(f"dead-letters/{job_id}/{action}", key, document)

    def decide_until_accepted(self, job_id: str, action: str, key: str, **more: Any) -> Any:
        return self._until(lambda: self.decide(job_id, action, key, **more), (200, 202))

    def post(self, path: str, key: str, document: Mapping[str, Any]) -> Reply:
        """A request to a keyed route, under an Idempotency-Key."""
        headers = self._key() | {"Content-Type": "application/json", "Idempotency-Key": key}
        return self.call("POST", f"/api/{path}", json.dumps(document).encode(), headers)

    def get(self, path: str) -> Reply:
        """A look; as it changes nothing, it is repeated while the host is away or says that it is busy."""
        until, pauses = time.monotonic() + PATIENCE_SECONDS, _pauses()
        while True:
            reply = self.call("GET", f"/api/{path}", None, self._key())
            if reply.status not in (0, 503) or time.monotonic() > until:
                return reply
            time.sleep(next(pauses))

    def wait_for(self, path: str, **wanted: Any) -> Any:
        """The document at `path` once it has every wanted value."""
        until, pauses = time.monotonic() + PATIENCE_SECONDS, _pauses()
        while True:
            reply = self.get(path)
            if reply.status == 200 and all(
                reply.document.get(name) == value for name, value in wanted.items()
            ):
                return reply.document
            assert time.monotonic() < until, f"{path} has not become {wanted}: {reply}"
            time.sleep(next(pauses))

    def wait_open_index_without(self, job_id: str) -> None:
        """Wait until the open index has no row of the job."""
        self.wait_until(lambda: not self.open_rows(job_id), f"the open rows of {job_id} are gone")

    def open_rows(self, job_id: str) -> list[str]:
        return [key for key in self.row_keys("open") if key.startswith(f"{job_id}:")]

    def row_keys(self, table: str) -> list[str]:
        with TableServiceClient.from_connection_string(self.stack.storage) as service:
            try:
                rows = list(service.get_table_client(table).list_entities(select=["PartitionKey", "RowKey"]))
            except ResourceNotFoundError:
                return []
        return [str(row["RowKey"]) for row in rows]

    def results(self, job_id: str) -> list[str]:
        """The names of the result blobs of the job."""
        with BlobServiceClient.from_connection_string(self.stack.storage) as service:
            try:
                found = service.get_container_client("results").list_blob_names(name_starts_with=f"{job_id}/")
                return list(found)
            except ResourceNotFoundError:
                return []

    def cases(self, job_id: str, state: str = "open") -> list[Any]:
        """The job's cases in that list."""
        found, cursor = [], ""
        while True:
            page = self.get(f"dead-letters?state={state}&limit=100{cursor}").document
            found += [case for case in page["cases"] if case["job_id"] == job_id]
            if page["cursor"] is None:
                return found
            cursor = f"&cursor={page['cursor']}"

    def blob(self, ref: str) -> bytes:
        container, _, path = ref.partition("/")
        with BlobServiceClient.from_connection_string(self.stack.storage) as service:
            return bytes(service.get_blob_client(container, path).download_blob().readall())

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        until, pauses = time.monotonic() + PATIENCE_SECONDS, _pauses()
        while not condition():
            assert time.monotonic() < until, f"never: {what}"
            time.sleep(next(pauses))

    def put_document(self, name: str, content: bytes) -> str:
        with BlobServiceClient.from_connection_string(self.stack.storage) as service:
            with contextlib.suppress(ResourceExistsError):
                service.create_container("inputs")
            service.get_blob_client("inputs", f"documents/{name}").upload_blob(content, overwrite=True)
        return f"inputs/documents/{name}"

    def send_raw(self, body: bytes) -> None:
        """A message that is none of ours."""
        with (
            ServiceBusClient.from_connection_string(self.stack.servicebus) as client,
            client.get_queue_sender("ai-jobs") as sender,
        ):
            sender.send_messages(ServiceBusMessage(body))

    def repeat_message(self, job_id: str) -> None:
        """Put a copy of the job's message into the queue, as a nudge or a redelivery would."""
        with (
            ServiceBusClient.from_connection_string(self.stack.servicebus) as client,
            client.get_queue_receiver("ai-jobs") as receiver,
            client.get_queue_sender("ai-jobs") as sender,
        ):
            found = next(m for m in receiver.peek_messages(50) if str(m.message_id).startswith(job_id))
            copy = ServiceBusMessage(
                b"".join(found.body), application_properties=found.application_properties
            )
            sender.send_messages(copy)

    def call(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        connection = http.client.HTTPConnection(urlsplit(self.stack.url).netloc, timeout=60)
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            content = response.read()
            return Reply(response.status, json.loads(content) if content else None)
        except (OSError, http.client.HTTPException):
            return Reply(0, None)
        finally:
            connection.close()

    def _key(self) -> dict[str, str]:
        return {"x-functions-key": self.stack.operator_key}

    def _until(self, ask: Any, wanted: tuple[int, ...]) -> Any:
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            reply = ask()
            if reply.status in wanted:
                return reply.document
            assert time.monotonic() < until, f"never accepted: {reply}"
            assert reply.status in (0, 503), reply
            time.sleep(0.2)


class _Told(Protocol):
    """An answer, of whichever kind."""

    @property
    def status(self) -> int: ...

    @property
    def document(self) -> Any: ...


_AnyTold = TypeVar("_AnyTold", bound=_Told)


def until_told(code: str, ask: Callable[[], _AnyTold]) -> _AnyTold:
    """The answer with the code of that problem; a busy machine may have another one first."""
    until, pauses = time.monotonic() + PATIENCE_SECONDS, _pauses()
    while True:
        told = ask()
        if told.status and told.document.get("code") == code:
            return told
        assert told.status in (0, 503), told
        assert time.monotonic() < until, f"never {code}: {told}"
        time.sleep(next(pauses))


def _pauses() -> Iterator[float]:
    """Short at first, then longer: each look costs the stack as much as a webhook does."""
    pause = 0.05
    while True:
        yield pause
        pause = min(pause * 1.5, 0.5)


def event_id() -> str:
    return str(uuid.uuid4())


@contextmanager
def running_flow(
    folder: Path,
    settings: Mapping[str, str] | None = None,
    *,
    proxied: bool = False,
    patient: bool = False,
    worker: WorkerKind | None = None,
) -> Iterator[Flow]:
    """A stack with short times, for the tests of one module; `proxied` makes the host's links breakable.

    `patient` gives attempts the time that a busy machine needs to start the process that reads a PDF, for
    tests that count attempts and wait for no lock to run out. `worker` is the test run's unless given.
    """
    stack = flow_stack(
        folder,
        settings={**FAST, **(settings or {})},
        pipeline=_patient_pipeline(folder) if patient else PIPELINE,
        lock_duration=PATIENT_LOCK if patient else LOCK_DURATION,
        proxied=proxied,
        worker=worker,
    )
    with stack:
        yield Flow(stack)


def _patient_pipeline(folder: Path) -> Path:
    short, long = 'attempt_timeout = "3s"', 'attempt_timeout = "40s"'
    text = PIPELINE.read_text(encoding="utf-8")
    assert short in text
    copy = folder.with_name(f"{folder.name}-pipeline.toml")
    copy.write_text(text.replace(short, long), encoding="utf-8")
    return copy


def assert_succeeded_once(flow: Flow, job_id: str) -> None:
    """The job ended well: one result, no case left open, nothing open."""
    job = flow.wait_for(f"jobs/{job_id}", status="succeeded")
    flow.wait_open_index_without(job_id)
    assert len(flow.results(job_id)) == 1
    assert [row["event"] for row in job["timeline"]].count("succeeded") == 1
    assert flow.get(f"jobs/{job_id}/result").document["sentences"]
    assert flow.cases(job_id) == []


def assert_one_open_case(flow: Flow, job_id: str, code: str) -> None:
    """The job waits for a person: one open case, nothing else open, no result."""
    flow.wait_for(f"jobs/{job_id}", status="dead")
    flow.wait_open_index_without(job_id)
    cases = flow.cases(job_id)
    assert [case["code"] for case in cases] == [code]
    timeline = [row["event"] for row in flow.get(f"jobs/{job_id}").document["timeline"]]
    assert timeline.count("dead") == 1
    assert timeline.count("case_filed") == 1
    assert flow.results(job_id) == []
