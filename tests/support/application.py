"""The use cases over the fakes: services, a pipeline, a scripted task, and signed webhooks."""

import base64
import fnmatch
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import jmespath

from shared.access import PrefixAccess
from shared.intake import Intake
from shared.jobs import Job, job_id_for
from shared.limits.breakers import Breakers
from shared.pipeline import Pipeline, Route, SourcePolicy, TaskPolicy
from shared.retry import BackoffList, RetryPolicy
from shared.services import Services
from shared.settings import Settings
from shared.tasks.base import TaskContext, TaskInput, TaskResult, Waiting
from shared.tasks.options import SummarizeDocumentOptions
from shared.webhooks.base import WebhookRequest
from shared.webhooks.secrets import SourceSecrets
from shared.webhooks.signatures import hmac_sha256
from tests.support.fakes import World
from tests.support.fakes.key_sets import FakeKeySets

SOURCE = "events"
TASK = "summarize_document"
SECRET = "whsec_" + "QUFB" * 10
SECRETS = {"EVENTS_WEBHOOK_SECRET": SECRET}
ATTEMPT_TIMEOUT = timedelta(seconds=60)
BACKOFF = timedelta(seconds=30)
DOCUMENT = "inputs/documents/report.txt"


class ScriptedTask:
    """Does what `script` says, one entry a run (an error is raised), and otherwise answers."""

    name: ClassVar[str] = TASK

    def __init__(self) -> None:
        self.script: list[Exception | bytes] = []
        self.runs: list[tuple[TaskInput, TaskContext]] = []

    @property
    def max_input_bytes(self) -> int:
        return 1024 * 1024

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult | Waiting:
        self.runs.append((task_input, context))
        step = self.script.pop(0) if self.script else f"result of run {len(self.runs)}".encode()
        if isinstance(step, Exception):
            raise step
        return TaskResult(content=step, content_type="text/plain")


def route(event: str, *, input_ref: str | None = None, content: str | None = None) -> Route:
    return Route(
        event=event,
        pattern=re.compile(fnmatch.translate(event)),
        task=TASK,
        input_ref=jmespath.compile(input_ref) if input_ref else None,
        input=jmespath.compile(content) if content else None,
        user=jmespath.compile("data.user"),
    )


def pipeline(*, attempts: int = 3, deadline: timedelta = timedelta(hours=24)) -> Pipeline:
    """One source of Standard Webhooks with three routes, one task."""
    source = SourcePolicy(
        name=SOURCE,
        scheme="standard",
        secrets=tuple(SECRETS),
        max_body=256 * 1024,
        tolerance=timedelta(minutes=5),
        allowed_inputs=("inputs/documents/",),
        routes=(
            route("document.*", input_ref="data.document"),
            route("note.*", content="data.text"),
            route("whole.*"),
        ),
    )
    retry = RetryPolicy(attempts=attempts, deadline=deadline, backoff=BackoffList((BACKOFF,)), jitter=0.2)
    policy = TaskPolicy(
        name=TASK,
        attempt_timeout=ATTEMPT_TIMEOUT,
        retry=retry,
        options=SummarizeDocumentOptions.model_validate({"max_document": "1MiB", "sentences": 3}),
    )
    return Pipeline(sources={SOURCE: source}, tasks={TASK: policy})


def build_services(world: World, task: Any = None, **changes: Any) -> Services:
    """Services over the fakes of `world`; `changes` replace any of them."""
    policies = changes.pop("pipeline", None) or pipeline()
    built = Services(
        settings=Settings(),
        pipeline=policies,
        jobs=world.jobs,
        open_index=world.open,
        cases=world.cases,
        groups=world.groups,
        blobs=world.blobs,
        retention=world.retention,
        reviews=world.reviews,
        bus=world.bus,
        alerts=world.alerts,
        notifier=world.notifier,
        breakers=Breakers(world.breakers, world.clock, world.randomness),
        budgets=world.budgets,
        slots=world.slots,
        telemetry=world.telemetry,
        clock=world.clock,
        randomness=world.randomness,
        access=PrefixAccess(policies),
        tasks={TASK: task or ScriptedTask()},
        worker="worker-1",
        app_version="1.2.3",
    )
    return replace(built, **changes)


def build_intake(services: Services, environ: Mapping[str, str] | None = None) -> Intake:
    return Intake(services, SourceSecrets(SECRETS if environ is None else environ), FakeKeySets())


def new_job(world: World, event_id: str = "evt_1", **changes: Any) -> Job:
    """A queued job as intake would insert it, with a document in storage as its input."""
    now = world.clock.now()
    job = Job(
        job_id=job_id_for(SOURCE, "", event_id),
        source=SOURCE,
        account="",
        event_id=event_id,
        event_type="document.added",
        task_type=TASK,
        user_id="user_204",
        body_sha256="0" * 64,
        input_ref=DOCUMENT,
        traceparent=None,
        created_at=now,
        updated_at=now,
        released_at=now,
    )
    return replace(job, **changes)


async def store(world: World, job: Job, *, opened: bool = True) -> Job:
    """Put the job, its document and (unless told otherwise) its open row into storage."""
    if job.input_ref == DOCUMENT:
        world.blobs.put_now(DOCUMENT, b"A short report.", "text/plain")
    assert await world.jobs.insert(job, [])
    if opened:
        await world.open.put(job.job_id, job.release)
    return job


def webhook(
    world: World, document: Any, *, event_id: str = "evt_1", headers: Mapping[str, str] | None = None
) -> WebhookRequest:
    """A request of the source `events` as its sender signs it; `document` may be bytes."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    stamp = str(int(world.clock.now().timestamp()))
    return WebhookRequest(
        method="POST",
        headers={
            "content-type": "application/json",
            "content-length": str(len(body)),
            "webhook-id": event_id,
            "webhook-timestamp": stamp,
            "webhook-signature": signature(event_id, stamp, body),
            **(headers or {}),
        },
        query="",
        url=f"http://localhost/api/webhooks/{SOURCE}",
        body=body,
    )


def signature(event_id: str, stamp: str, body: bytes) -> str:
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    mac = hmac_sha256(key, event_id.encode(), b".", stamp.encode(), b".", body)
    return "v1," + base64.b64encode(mac).decode()


def note(text: str = "The quick brown fox.", kind: str = "note.added") -> dict[str, Any]:
    return {"type": kind, "data": {"text": text, "user": "user_204"}}
