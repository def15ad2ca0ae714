"""Every fault over every call to a provider, on one stack: each job ends as docs/decision-table.md says.

All jobs of the table are alive at the same time. The outside counts what really happened.
"""

import base64
import itertools
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from azure.data.tables import TableServiceClient

from devhost.outside import Outside
from devhost.outside.steps import Fault, cut, status
from shared.adapters.table_rows import JOB_KEY, read_job
from shared.jobs import JobState, job_id_for
from tests.flows.driver import PATIENT_LOCK, Flow, event_id
from tests.flows.fault_table import ATTEMPTS, RETRY_AFTER, SUCCEEDED, TABLE, Called, Row
from tests.support.effects_beside import CALL
from tests.support.outside_calls import count_of, kept_calls, listed_videos
from tests.support.stacks import flow_stack
from tests.support.three_effects import LAG_SECONDS

pytestmark = [pytest.mark.flows, pytest.mark.timeout(900)]

PATIENCE_SECONDS = 300.0
LOOK_SECONDS = 1.0
CALM = {"SWEEP_SCHEDULE": "*/5 * * * * *", "SWEEP_GRACE_SECONDS": "8", "LEASE_MARGIN_SECONDS": "2"}
"""Nothing is killed here. A retry that comes before its turn is written is put off, and found soon."""
POLLS = 1_000_000
"""A video is ready when the test says so."""
PATHS: Mapping[Called, tuple[str, str]] = {
    Called.CHAT: ("POST", "/v1/chat/completions"),
    Called.SUBMIT: ("POST", "/v1/videos"),
    Called.STATUS: ("GET", "/v1/videos/{id}"),
    Called.CONTENT: ("GET", "/v1/videos/{id}/content"),
    Called.KEYED: ("POST", "/effects/keyed"),
    Called.FINDABLE: ("POST", "/effects/findable"),
    Called.LOOK_UP: ("GET", "/effects/findable"),
    Called.BLIND: ("POST", "/effects/blind"),
    Called.REFUSED: ("POST", "/effects/blind"),
    Called.RECEIVER: ("POST", "/callbacks/jobs"),
}
VIDEO = frozenset({Called.SUBMIT, Called.STATUS, Called.CONTENT})
EFFECT = {Called.LOOK_UP: "findable", Called.RECEIVER: "keyed"}
ENDED = frozenset({JobState.SUCCEEDED, JobState.DEAD})
RESTS = (
    Row(Called.CHAT, "429_retry_after", (status(429, retry_after=RETRY_AFTER),), SUCCEEDED, 2, 1),
    Row(Called.SUBMIT, "429_retry_after", (status(429, retry_after=RETRY_AFTER),), SUCCEEDED, 2, 1),
)
"""Run before the others, who would wait with them: a provider that says when to return rests until then."""
ROWS = (*RESTS, *TABLE)


@dataclass(frozen=True, slots=True)
class Outcome:
    ends: str
    attempts: int
    effects: int


@dataclass(slots=True)
class Scripted:
    """The stack and the outside, and the jobs so far: each with its row and marker."""

    flow: Flow
    outside: Outside
    happened: Path
    jobs: dict[str, tuple[Row, str]] = field(default_factory=dict)
    served: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def deliver(self, row: Row) -> None:
        event, marker = event_id(), f"row{next(self.numbers):04d}x"
        source = "told" if row.called is Called.RECEIVER else "github"
        job_id = job_id_for(source, "", event)
        self.jobs[job_id] = (row, marker)
        method, path = PATHS[row.called]
        if row.called is Called.LOOK_UP:
            self.outside.script("POST", path, cut(Fault.CUT_AFTER), match=f'"{marker}"')
        if row.steps and "{id}" not in path:
            by_id = row.called in (Called.LOOK_UP, Called.RECEIVER)
            self.outside.script(method, path, *row.steps, match=job_id if by_id else marker)
        payload, action = self._input(row, marker)
        assert self.flow.deliver_until_accepted(event, payload, action=action, source=source) == job_id

    def _input(self, row: Row, marker: str) -> tuple[dict[str, str], str]:
        if row.called is Called.CHAT:
            return {"text": f"The crane {marker} was greased in May. It lifts twelve tonnes."}, "note"
        if row.called in VIDEO:
            return {"prompt": f"A crane of the name {marker}"}, "video"
        return {"text": f"{EFFECT.get(row.called, row.called)} {marker}"}, "effects"

    def deliver_all(self, rows: tuple[Row, ...]) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self.deliver, rows))

    def wait_all(self) -> None:
        """Until all have ended, as far as patience lasts; meanwhile the service makes its videos."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not self._all_ended() and time.monotonic() < until:
            self._make_videos()
            time.sleep(LOOK_SECONDS)

    def _all_ended(self) -> bool:
        with TableServiceClient.from_connection_string(self.flow.stack.storage) as service:
            rows = service.get_table_client("jobs").query_entities(f"RowKey eq '{JOB_KEY}'")
            ended = {job.job_id for job in map(read_job, rows) if job.state in ENDED}
        if not ended >= self.jobs.keys():
            return False
        tellings = (job_id for job_id, (row, _) in self.jobs.items() if row.called is Called.RECEIVER)
        return all(_told(self.flow.get(f"jobs/{job_id}").document) for job_id in tellings)

    def _make_videos(self) -> None:
        """What a new video's row wants of status and file is scripted, then the video is ready."""
        for video in listed_videos(self.outside):
            if video["id"] not in self.served:
                self.served.add(video["id"])
                row = next(row for row, marker in self.jobs.values() if marker in video["prompt"])
                method, path = PATHS[row.called]
                if "{id}" in path:
                    self.outside.script(method, path.replace("{id}", video["id"]), *row.steps)
                self.outside.finish_video(video["id"])

    def outcomes(self) -> dict[str, Outcome]:
        """By the name of the row."""
        counted, completions = self.outside.effects(), self._completions()

        def effects(row: Row, job_id: str, marker: str) -> int:
            match row.called:
                case Called.CHAT:
                    return sum(marker in completion for completion in completions)
                case Called.SUBMIT | Called.STATUS | Called.CONTENT:
                    return count_of(job_id, counted["video"].by_request)
                case Called.RECEIVER:
                    return count_of(job_id, counted["callback"].by_key)
                case Called.REFUSED:
                    return count_of(job_id, counted["blind"].by_reference)
                case _:
                    return count_of(job_id, counted[EFFECT.get(row.called, row.called)].by_reference)

        return {
            str(row): _outcome(row, self.flow.get(f"jobs/{job_id}").document, effects(row, job_id, marker))
            for job_id, (row, marker) in self.jobs.items()
        }

    def _completions(self) -> list[str]:
        """The bodies of the completions that were made: models know of no idempotency keys."""
        calls = kept_calls(self.happened, *PATHS[Called.CHAT])
        return [base64.b64decode(call["body"]).decode() for call in calls]


def _told(job: Any) -> str | None:
    events = [row["event"] for row in job["timeline"]]
    return next((event for event in events if event in ("notified", "notification_given_up")), None)


def _outcome(row: Row, job: Any, effects: int) -> Outcome:
    failure, ends = job.get("failure"), job["status"]
    if failure is not None and ends == "dead":
        ends = f"{failure['category']}/{failure['code']}"
        assert failure["attempts"] == job["attempt"] + 1
    elif row.called is Called.RECEIVER and ends == "succeeded":
        ends = _told(job) or "not told"
    return Outcome(ends, job["attempt"] + 1, effects)


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripted]:
    folder = tmp_path_factory.mktemp("faults")
    happened = folder.with_name("happened.jsonl")
    with Outside(state=happened) as outside:
        outside.configure(find_lag_seconds=LAG_SECONDS / 2, polls_queued=POLLS)
        host = urlsplit(outside.url).netloc
        pipeline = folder.with_name("faults-pipeline.toml")
        text = _PIPELINE.replace("{host}", host).replace("{attempts}", str(ATTEMPTS))
        text = text.replace("{call}", f"{CALL.total_seconds():g}")
        pipeline.write_text(text, encoding="utf-8")
        settings = {
            **CALM,
            "AI_PROVIDER": "openai",
            "AI_MODEL": "a-model",
            "AI_BASE_URL": outside.openai_url,
            "AI_API_KEY": "an-invented-key",
            "EFFECTS_URL": outside.effects_url,
            "AFTERHOOK_PRIVATE_HOSTS": host,
            "NOTIFY_SECRET": "whsec_" + base64.b64encode(b"an invented secret of 32 bytes!!").decode(),
        }
        stack = flow_stack(
            folder,
            lock_duration=PATIENT_LOCK,
            pipeline=pipeline,
            settings=settings,
            plugins=("tests.support.effects_beside",),
        )
        with stack:
            yield Scripted(Flow(stack), outside, happened)


@pytest.fixture(scope="module")
def outcomes(scripted: Scripted) -> Mapping[str, Outcome]:
    scripted.deliver_all(RESTS)
    scripted.wait_all()
    scripted.deliver_all(TABLE)
    scripted.wait_all()
    return scripted.outcomes()


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_fault_ends_as_the_decision_table_says(outcomes: Mapping[str, Outcome], row: Row) -> None:
    assert outcomes[str(row)] == Outcome(row.ends, row.attempts, row.effects)


_PIPELINE = """
[sources.github]
scheme = "github"
secrets = ["GITHUB_WEBHOOK_SECRET"]

[[sources.github.routes]]
event = "repository_dispatch.note"
task = "summarize_document"
input = "client_payload.text"

[[sources.github.routes]]
event = "repository_dispatch.effects"
task = "generate_video"
input = "client_payload.text"

[[sources.github.routes]]
event = "repository_dispatch.video"
task = "generate_video"
input = "{prompt: client_payload.prompt}"

[sources.told]
scheme = "github"
secrets = ["TOLD_WEBHOOK_SECRET"]

[[sources.told.routes]]
event = "repository_dispatch.effects"
task = "generate_video"
input = "client_payload.text"

[sources.told.notify]
url = "http://{host}/callbacks/jobs"
secret = "NOTIFY_SECRET"

[outbound]
allowed_hosts = ["{host}"]

[providers.openai]
failures = 1000

[providers.videos]
failures = 1000

[tasks.summarize_document]
attempt_timeout = "15s"

[tasks.summarize_document.retry]
attempts = {attempts}
backoff = ["1s"]

[tasks.generate_video]
attempt_timeout = "15s"
submit_timeout = "{call}s"
max_video = "2MiB"

[tasks.generate_video.retry]
attempts = {attempts}
backoff = ["1s"]

[tasks.generate_video.poll]
deadline = "10m"
backoff = ["1s"]
"""
