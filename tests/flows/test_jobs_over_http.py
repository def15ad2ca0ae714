"""`POST /jobs` and `PUT /inputs/{name}` on a whole stack: one job a key, whatever dies in between."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from devhost.stack import Part
from shared.failpoints import Point
from tests.flows.driver import TEXT, Flow, Reply, assert_succeeded_once, event_id, running_flow, until_told
from tests.flows.every_scheme import jobs_of
from tests.unit.shared.documents.samples import LINES, text_pdf

pytestmark = [pytest.mark.flows]

COPIES = 20
USUAL = {Point.INTAKE_AFTER_JOB_ROW, Point.INTAKE_BEFORE_SEND}
"""The other points are killed at for webhooks, which take the same way from there."""
POINTS = [
    pytest.param(point, marks=() if point in USUAL else pytest.mark.slow)
    for point in Point
    if point.name.startswith("INTAKE_")
]


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    with running_flow(tmp_path_factory.mktemp("jobs-over-http")) as running:
        yield running


def keyed(flow: Flow, **more: str) -> dict[str, str]:
    return {"x-functions-key": flow.stack.operator_key, **more}


def submit(flow: Flow, key: str, **body: Any) -> Reply:
    headers = keyed(flow, **{"content-type": "application/json", "idempotency-key": key})
    document = {"task_type": "summarize_document", **body}
    return flow.call("POST", "/api/jobs", json.dumps(document).encode(), headers)


def submit_until_accepted(flow: Flow, key: str, **body: Any) -> list[Reply]:
    """All answers; the last is the one of success."""
    replies: list[Reply] = []

    def accepted() -> bool:
        replies.append(submit(flow, key, **body))
        assert replies[-1].status in (0, 200, 202, 503), replies[-1]
        return replies[-1].status in (200, 202)

    flow.wait_until(accepted, "the job was taken")
    return replies


def job_of(flow: Flow, key: str, **body: Any) -> str:
    return str(submit_until_accepted(flow, key, **body)[-1].document["job_id"])


def test_copies_of_a_request_at_once_are_one_job_and_another_body_is_refused(flow: Flow) -> None:
    key, before = event_id(), jobs_of(flow)
    with ThreadPoolExecutor(COPIES) as pool:
        asked = list(pool.map(lambda _: submit_until_accepted(flow, key, input=TEXT), range(COPIES)))
    (job_id,) = jobs_of(flow) - before
    # The one that is told of a new job may not have heard it, and is then told of a known one.
    new = [reply for replies in asked for reply in replies if reply.status == 202]
    assert len(new) == 1 or (not new and any(len(replies) > 1 for replies in asked))
    assert {replies[-1].document["job_id"] for replies in asked} == {job_id}
    other = submit(flow, key, input=f"{TEXT} This one is another.")
    assert (other.status, other.document["code"]) == (422, "idempotency_key_reused")
    assert submit(flow, key, input=TEXT).document == {
        "status": "accepted",
        "job_id": job_id,
        "duplicate": True,
    }
    assert_succeeded_once(flow, job_id)
    assert jobs_of(flow) - before == {job_id}


def test_an_uploaded_pdf_becomes_a_summary_of_it(flow: Flow) -> None:
    pdf = text_pdf()
    put = flow.call("PUT", "/api/inputs/ledger.pdf", pdf, keyed(flow, **{"content-type": "application/pdf"}))
    assert (put.status, put.document["size"]) == (201, len(pdf))
    ref = put.document["input_ref"]
    assert flow.blob(ref) == pdf
    job_id = job_of(flow, event_id(), input_ref=ref)
    assert_succeeded_once(flow, job_id)
    result = flow.get(f"jobs/{job_id}/result").document
    assert result["document"]["format"] == "pdf"
    assert result["sentences"][0] in LINES
    again = flow.call("PUT", "/api/inputs/ledger.pdf", pdf, keyed(flow))
    assert (again.status, again.document["input_ref"]) == (200, ref)


def test_without_a_key_of_the_app_nothing_is_taken(flow: Flow) -> None:
    before, headers = jobs_of(flow), {"content-type": "application/json", "idempotency-key": "k"}
    body = json.dumps({"task_type": "summarize_document", "input": TEXT}).encode()
    assert flow.call("POST", "/api/jobs", body, headers).status == 401
    assert flow.call("PUT", "/api/inputs/stranger.txt", b"text", {}).status == 401
    assert jobs_of(flow) == before


def test_a_dead_broker_is_a_503_and_the_repeat_runs_the_job(flow: Flow) -> None:
    key, before = event_id(), jobs_of(flow)
    flow.stack.kill(Part.BROKER, restart=False)
    try:
        refused = until_told("queue_unavailable", lambda: submit(flow, key, input=TEXT))
    finally:
        flow.stack.resume(Part.BROKER)
    assert refused.status == 503
    job_id = job_of(flow, key, input=TEXT)
    assert jobs_of(flow) - before == {job_id}
    assert_succeeded_once(flow, job_id)


@pytest.mark.kills
@pytest.mark.parametrize("point", POINTS)
def test_a_host_killed_in_intake_acknowledged_nothing_and_the_repeat_runs_the_job_once(
    flow: Flow, point: Point
) -> None:
    key, before = event_id(), jobs_of(flow)
    flow.failpoints.kill(point)
    assert submit(flow, key, input=TEXT).status == 0
    flow.failpoints.wait_fired(point)
    job_id = job_of(flow, key, input=TEXT)
    assert jobs_of(flow) - before == {job_id}
    assert_succeeded_once(flow, job_id)
