"""The host dies by SIGKILL at each point of notifications, callbacks, reviews and retention."""

import base64
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from azure.data.tables import TableServiceClient

from devhost.outside.process import Outside
from shared.adapters.reviews_table import LIST, review_key
from shared.adapters.table_rows import JOB_KEY, job_entity, read_job
from shared.callback_tokens import CallbackToken, issue
from shared.failpoints import Point
from shared.jobs import Job, JobState, Review
from shared.pending_reviews import pending_review
from shared.records import to_text
from shared.webhooks.base import Options, Trust, WebhookRequest
from shared.webhooks.standard import Standard
from tests.flows.driver import FAST, PATIENCE_SECONDS, PIPELINE, TEXT, Flow, assert_one_open_case, event_id
from tests.support.stacks import flow_stack

pytestmark = [pytest.mark.flows, pytest.mark.kills]

TELLING = [
    Point.NOTIFY_BEFORE_POST,
    Point.NOTIFY_AFTER_POST,
    Point.NOTIFY_AFTER_TIMELINE,
    Point.NOTIFY_AFTER_SETTLED,
    Point.FINISH_BEFORE_OPEN_ROW,
]
RETELLING = [Point.NOTIFY_AFTER_PUT_OFF, Point.NOTIFY_AFTER_NUDGE]
CALLING_BACK = [Point.CALLBACK_AFTER_WRITE, Point.CALLBACK_AFTER_NUDGE]
REVIEWING = [Point.REVIEW_BEFORE_BATCH, Point.REVIEW_AFTER_BATCH, Point.REVIEW_AFTER_NUDGE]
DELETING = [Point.RETENTION_AFTER_MARK, Point.RETENTION_AFTER_DELETE]
POINTS = {*TELLING, *RETELLING, *CALLING_BACK, *REVIEWING, *DELETING}
NOTIFY_SECRET = "whsec_" + base64.b64encode(b"an invented secret of 32 bytes!!").decode()
CALLBACK_KEY = "an invented secret of enough length"


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with Outside() as running:
        yield running


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory, outside: Outside) -> Iterator[Flow]:
    folder = tmp_path_factory.mktemp("notify")
    host = urlsplit(outside.url).netloc
    pipeline = folder.with_name(f"{folder.name}-pipeline.toml")
    tables = f"""
[outbound]
allowed_hosts = ["{host}"]

[retention]
inputs = "1h"
results = "1h"

[sources.github.notify]
url = "{outside.callbacks_url}"
secret = "GITHUB_NOTIFY_SECRET"
"""
    pipeline.write_text(PIPELINE.read_text(encoding="utf-8") + tables, encoding="utf-8")
    settings = FAST | {
        "GITHUB_NOTIFY_SECRET": NOTIFY_SECRET,
        "AFTERHOOK_PRIVATE_HOSTS": host,
        "AFTERHOOK_CALLBACK_KEY": CALLBACK_KEY,
        "PUBLIC_BASE_URL": "http://127.0.0.1:7071",
        "RETENTION_SCHEDULE": "*/2 * * * * *",
    }
    with flow_stack(folder, settings=settings, pipeline=pipeline) as stack:
        yield Flow(stack)


def told(outside: Outside, job_id: str) -> list[dict[str, Any]]:
    """The verified announcements of the job, in order, repeats too."""
    found = []
    for received in outside.callbacks():
        document = json.loads(received["body"])
        if document["data"]["job_id"] == job_id:
            _verify(received)
            found.append({"id": received["headers"]["webhook-id"], "type": document["type"]})
    return found


def _verify(received: dict[str, Any]) -> None:
    """Raises BadSignature or StaleTimestamp unless it is signed as a receiver would want."""
    request = WebhookRequest(
        method="POST",
        headers=received["headers"],
        query="",
        url=str(received["path"]),
        body=received["body"].encode(),
    )
    keys = (Standard().load_key(NOTIFY_SECRET, Options()),)
    trust = Trust(options=Options(), now=datetime.now(UTC), tolerance=timedelta(minutes=10), keys=keys)
    Standard().verify(request, trust)


def assert_told_once(flow: Flow, outside: Outside, job_id: str, kind: str) -> None:
    """The receiver knows of one end, whose repeats have the same id. Nothing is open.

    Redelivery, the message for the next attempt and the sweep may come to the same announcement at once.
    """
    flow.wait_open_index_without(job_id)
    found = Counter((each["id"], each["type"]) for each in told(outside, job_id))
    [(name, times)] = found.items()
    assert name == (f"{job_id}-0-{kind.removeprefix('job.')}", kind)
    assert times <= 20  # as long as the machine is slow, each sweep may find it not yet written down
    timeline = [row["event"] for row in flow.get(f"jobs/{job_id}").document["timeline"]]
    assert "notified" in timeline


def deliver(flow: Flow, name: object) -> str:
    return flow.deliver_until_accepted(event_id(), {"text": f"{TEXT} {name}."})


def change(flow: Flow, job_id: str, changed: Callable[[Job], Job]) -> Job:
    """Write the job's row as something else would have left it."""
    with TableServiceClient.from_connection_string(flow.stack.storage) as service:
        table = service.get_table_client("jobs")
        job = changed(read_job(table.get_entity(job_id, JOB_KEY)))
        table.upsert_entity(job_entity(job))
    return job


def list_as_pending(flow: Flow, job: Job) -> None:
    """Put the job on the list of reviews, as its worker would have."""
    entry = pending_review(job)
    with TableServiceClient.from_connection_string(flow.stack.storage) as service:
        place = {"PartitionKey": LIST, "RowKey": review_key(entry)}
        service.get_table_client("reviews").upsert_entity(place | {"record": to_text(entry)})


def pending(flow: Flow) -> list[str]:
    """The jobs that `GET /reviews` lists."""
    return [each["job_id"] for each in flow.get("reviews").document["reviews"]]


@pytest.mark.slow  # the kill matrix kills here in every run
@pytest.mark.parametrize("point", TELLING)
def test_a_success_is_told_whatever_dies(flow: Flow, outside: Outside, point: Point) -> None:
    flow.failpoints.kill(point)
    job_id = deliver(flow, point)
    flow.wait_for(f"jobs/{job_id}", status="succeeded")
    assert_told_once(flow, outside, job_id, "job.succeeded")


def test_a_death_is_told_once_its_case_is_filed(flow: Flow, outside: Outside) -> None:
    flow.failpoints.kill(Point.NOTIFY_AFTER_POST)
    payload = {"document": "inputs/documents/none-told.txt"}
    job_id = flow.deliver_until_accepted(event_id(), payload, action="document")
    assert_one_open_case(flow, job_id, "document_missing")
    assert_told_once(flow, outside, job_id, "job.dead")


@pytest.mark.slow  # the kill matrix kills here in every run
@pytest.mark.parametrize("point", RETELLING)
def test_a_receiver_that_failed_is_told_later_whatever_dies(
    flow: Flow, outside: Outside, point: Point
) -> None:
    outside.script("POST", "/callbacks", {"status": 503})
    flow.failpoints.kill(point)
    job_id = deliver(flow, point)
    flow.wait_for(f"jobs/{job_id}", status="succeeded")
    assert_told_once(flow, outside, job_id, "job.succeeded")
    assert outside.scripts_left() == 0


@pytest.mark.parametrize("point", CALLING_BACK)
def test_a_callback_cut_off_by_a_kill_and_repeated_ends_the_wait(
    flow: Flow, outside: Outside, point: Point
) -> None:
    in_an_hour = datetime.now(UTC) + timedelta(hours=1)
    job_id = deliver(flow, point)
    flow.wait_for(f"jobs/{job_id}", status="succeeded")
    flow.wait_open_index_without(job_id)
    waiting = change(
        flow,
        job_id,
        lambda job: replace(
            job, state=JobState.AWAITING_RESULT, result=None, release=1, turn=5, not_before=in_an_hour
        ),
    )
    token = issue(CallbackToken(job_id=job_id, release=1, expires_at=in_an_hour), CALLBACK_KEY.encode())

    def call_back() -> int:
        return flow.call("POST", f"/api/callbacks/{token}", b"{}", {}).status

    flow.failpoints.kill(point)
    assert call_back() == 0
    flow.wait_until(lambda: call_back() == 200, "the callback is taken")
    job = flow.wait_for(f"jobs/{job_id}", status="succeeded", release=1)
    assert [row["event"] for row in job["timeline"]].count("called_back") == 1
    assert waiting.not_before == in_an_hour
    flow.wait_open_index_without(job_id)


@pytest.mark.parametrize("point", REVIEWING)
def test_an_approval_cut_off_by_a_kill_and_repeated_is_told_once(
    flow: Flow, outside: Outside, point: Point
) -> None:
    job_id, key = deliver(flow, point), event_id()
    flow.wait_for(f"jobs/{job_id}", status="succeeded")
    flow.wait_open_index_without(job_id)
    # As a task with `publish = "after_review"` leaves it, when nobody has been told of it.
    outside.reset()
    list_as_pending(flow, change(flow, job_id, lambda job: replace(job, review=Review.PENDING)))
    assert job_id in pending(flow)
    assert flow.get(f"jobs/{job_id}/result").document["code"] == "awaiting_review"
    flow.failpoints.kill(point)
    assert flow.post(f"jobs/{job_id}/approve", key, _VERDICT).status == 0
    until = time.monotonic() + PATIENCE_SECONDS
    while (reply := flow.post(f"jobs/{job_id}/approve", key, _VERDICT)).status != 200:
        assert time.monotonic() < until, reply
        time.sleep(0.2)
    flow.wait_until(lambda: bool(told(outside, job_id)), "the approval is told")
    assert_told_once(flow, outside, job_id, "job.succeeded")
    assert job_id not in pending(flow)
    assert flow.get(f"jobs/{job_id}/result").document["sentences"]
    job = flow.get(f"jobs/{job_id}").document
    assert [{name: each[name] for name in _VERDICT} for each in job["decisions"]] == [_VERDICT]
    assert job["notification"]["state"] == "delivered"


_VERDICT = {"operator": "on-call", "reason": "looked at it"}


@pytest.mark.parametrize("point", DELETING)
def test_a_deletion_cut_off_by_a_kill_is_finished_by_the_next_run(
    flow: Flow, outside: Outside, point: Point
) -> None:
    job_id = deliver(flow, point)
    flow.wait_for(f"jobs/{job_id}", status="succeeded")
    flow.wait_open_index_without(job_id)
    flow.failpoints.kill(point)
    with TableServiceClient.from_connection_string(flow.stack.storage) as service:
        ended = service.get_table_client("ended")
        ended.upsert_entity({"PartitionKey": "all:2020-01-01", "RowKey": job_id})

        def left() -> list[str]:
            return [
                str(row["RowKey"])
                for row in ended.query_entities("PartitionKey eq 'all:2020-01-01'")
                if row["RowKey"] == job_id
            ]

        flow.wait_until(lambda: not left(), "retention has gone through the job")
    assert flow.results(job_id) == []
    job = flow.wait_for(f"jobs/{job_id}", inputs_gone=True, result_gone=True)
    events = [row["event"] for row in job["timeline"]]
    assert (events.count("inputs_deleted"), events.count("result_deleted")) == (1, 1)
    assert flow.get(f"jobs/{job_id}/result").document["code"] == "result_gone"


def test_another_apps_token_changes_nothing(flow: Flow) -> None:
    job_id = deliver(flow, "token")
    before = flow.wait_for(f"jobs/{job_id}", status="succeeded")
    later = datetime.now(UTC) + timedelta(hours=1)
    token = issue(CallbackToken(job_id=job_id, release=0, expires_at=later), b"another secret")
    for text in (token, "x" * 91):
        assert flow.call("POST", f"/api/callbacks/{text}", b"{}", {}).status == 401
    assert flow.get(f"jobs/{job_id}").document["status"] == before["status"]
