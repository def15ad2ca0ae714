"""The main job from outside: webhooks, results, cases, decisions, and every refusal."""

import asyncio
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from devhost.stack import Part
from tests.flows.driver import (
    PATIENCE_SECONDS,
    TEXT,
    Flow,
    Reply,
    assert_one_open_case,
    assert_succeeded_once,
    event_id,
    running_flow,
)
from tests.support import host_worker
from tests.support.waiting import in_time

pytestmark = pytest.mark.flows

SAMPLES = Path(__file__).parents[2] / "devhost" / "tour"


@pytest.fixture(scope="module", params=host_worker.both())
def flow(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Flow]:
    """Under the host's own worker, and under Azure's library."""
    with running_flow(tmp_path_factory.mktemp("main"), patient=True, worker=request.param) as running:
        yield running


def test_a_signed_webhook_about_a_pdf_becomes_a_summary_of_it(flow: Flow) -> None:
    ref = flow.put_document("plan.pdf", (SAMPLES / "harbour-plan.pdf").read_bytes())
    job_id = flow.deliver_until_accepted(event_id(), {"document": ref}, action="document")
    assert_succeeded_once(flow, job_id)
    result = flow.get(f"jobs/{job_id}/result").document
    assert (result["provider"], result["method"], result["document"]["format"]) == (
        "builtin",
        "extractive",
        "pdf",
    )
    job = flow.get(f"jobs/{job_id}").document
    assert [row["event"] for row in job["timeline"]] == ["accepted", "started", "succeeded"]
    assert job["result_ref"].startswith(f"results/{job_id}/0-")


def test_two_events_sent_fifty_times_at_once_give_one_job_and_one_result_each(flow: Flow) -> None:
    events = [event_id(), event_id()]
    with ThreadPoolExecutor(50) as pool:
        sends = [(event, pool.submit(_send_until_accepted, flow, event)) for event in events * 50]
    for event in events:
        mine = [send.result() for sent, send in sends if sent == event]
        statuses = [reply.status for reply, _ in mine]
        assert statuses.count(202) + statuses.count(200) == 50
        # The one that is told of a new job may not have heard it, and is then told of a known one.
        assert statuses.count(202) == 1 or (statuses.count(202) == 0 and any(again for _, again in mine))
        (job_id,) = {reply.document["job_id"] for reply, _ in mine}
        assert_succeeded_once(flow, job_id)


def _send_until_accepted(flow: Flow, event: str) -> tuple[Reply, bool]:
    """The answer of success, and whether another one came first."""
    until, again = time.monotonic() + PATIENCE_SECONDS, False
    while (reply := flow.deliver(event, {"text": f"{TEXT} {event}."})).status in (0, 503):
        assert time.monotonic() < until, reply
        again = True
        time.sleep(0.2)
    return reply, again


def test_an_operator_gives_a_dead_job_another_document_and_it_is_done(flow: Flow) -> None:
    ref = flow.put_document("cover.png", (SAMPLES / "harbour-plan.png").read_bytes())
    job_id = flow.deliver_until_accepted(event_id(), {"document": ref}, action="document")
    assert_one_open_case(flow, job_id, "unsupported_format")
    better = flow.put_document("cover.md", (SAMPLES / "harbour-plan.md").read_bytes())
    assert flow.decide_until_accepted(job_id, "resubmit", event_id(), input_ref=better)["release"] == 1
    assert_succeeded_once(flow, job_id)
    case = flow.get(f"dead-letters/{job_id}").document
    assert (case["state"], case["operator"], case["reason"]) == ("resubmitted", "on-call", "looked at it")
    assert flow.decide(job_id, "resubmit", event_id()).document["code"] == "already_done"


def test_a_closed_case_leaves_the_list_and_stays_with_its_reason(flow: Flow) -> None:
    payload = {"document": "inputs/documents/nowhere.pdf"}
    job_id = flow.deliver_until_accepted(event_id(), payload, action="document")
    assert_one_open_case(flow, job_id, "document_missing")
    flow.decide_until_accepted(job_id, "close", event_id())
    assert flow.cases(job_id) == []
    assert [case["reason"] for case in flow.cases(job_id, "closed")] == ["looked at it"]
    assert flow.get(f"jobs/{job_id}").document["status"] == "closed"
    assert flow.decide(job_id, "resubmit", event_id()).document["code"] == "already_done"


def test_a_document_outside_what_the_source_may_read_becomes_a_case(flow: Flow) -> None:
    payload = {"document": "protected/somebody/else.txt"}
    job_id = flow.deliver_until_accepted(event_id(), payload, action="document")
    assert_one_open_case(flow, job_id, "document_not_allowed")


def test_an_event_without_an_input_is_a_case_and_not_lost(flow: Flow) -> None:
    job_id = flow.deliver_until_accepted(event_id(), {"elsewhere": "x"}, action="document")
    assert_one_open_case(flow, job_id, "input_missing")


def test_an_unreadable_queue_message_becomes_a_case_with_its_bytes(flow: Flow) -> None:
    flow.send_raw(b'{"job": "not one of ours"}\x00\xff')

    def found() -> list[str]:
        cases = flow.get("dead-letters?category=unreadable").document["cases"]
        return [case["input_ref"] for case in cases]

    flow.wait_until(lambda: bool(found()), "a case for the unreadable message")
    assert flow.blob(found()[0]) == b'{"job": "not one of ours"}\x00\xff'


def test_an_event_no_route_wants_is_ignored(flow: Flow) -> None:
    reply = flow.deliver(event_id(), {"text": TEXT}, action="something-else")
    assert (reply.status, reply.document) == (200, {"status": "ignored"})


def test_keyed_routes_are_closed_to_strangers(flow: Flow) -> None:
    for path in ("jobs/job_x", "dead-letters", "dead-letters/job_x"):
        assert flow.call("GET", f"/api/{path}", None, {}).status == 401


def test_refusals_are_problem_details_that_echo_nothing(flow: Flow) -> None:
    secret_words = "do-not-echo-me"
    refusals = {
        "unknown_source": flow.call("POST", "/api/webhooks/nobody", b"{}", {}),
        "bad_signature": flow.call(
            "POST",
            "/api/webhooks/github",
            secret_words.encode(),
            {"X-Hub-Signature-256": f"sha256={secret_words}"},
        ),
        "job_not_found": flow.get(f"jobs/{secret_words}"),
        "case_not_found": flow.get(f"dead-letters/{secret_words}"),
        "bad_request": flow.get(f"dead-letters?state={secret_words}"),
        "bad_cursor": flow.get(f"dead-letters?cursor={secret_words}"),
    }
    statuses = {code: reply.status for code, reply in refusals.items()}
    assert statuses == {
        "unknown_source": 404,
        "bad_signature": 401,
        "job_not_found": 404,
        "case_not_found": 404,
        "bad_request": 400,
        "bad_cursor": 400,
    }
    assert {code: reply.document["code"] for code, reply in refusals.items()} == {c: c for c in refusals}
    assert secret_words not in json.dumps([reply.document for reply in refusals.values()])


def test_a_body_over_the_cap_is_413_before_anything_else(flow: Flow) -> None:
    reply = flow.call("POST", "/api/webhooks/github", b"x" * (1024 * 1024 + 1), {})
    assert (reply.status, reply.document["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("missing", ["operator", "reason"])
def test_no_decision_is_taken_without_an_operator_and_a_reason(flow: Flow, missing: str) -> None:
    body = {"operator": "on-call", "reason": "because"}
    del body[missing]
    headers = {"x-functions-key": flow.stack.operator_key}
    path = "/api/dead-letters/job_x/resubmit"
    reply = flow.call("POST", path, json.dumps(body).encode(), headers)
    assert (reply.status, reply.document["code"]) == (400, f"{missing}_required")


def test_a_frozen_storage_account_is_a_503_within_the_senders_patience(flow: Flow) -> None:
    event, payload = event_id(), {"text": f"{TEXT} While storage was frozen."}
    flow.stack.freeze(Part.AZURITE)
    try:
        # GitHub gives up after ten seconds; two are the noise of a busy machine.
        reply = asyncio.run(in_time(12, lambda: asyncio.to_thread(flow.deliver, event, payload)))
    finally:
        flow.stack.thaw(Part.AZURITE)
    assert (reply.status, reply.document["code"]) == (503, "storage_unavailable")
    assert_succeeded_once(flow, flow.deliver_until_accepted(event, payload))


def test_health_is_ok_and_says_nothing_else_to_strangers(flow: Flow) -> None:
    told: list[Reply] = []

    def healthy() -> bool:
        told.append(flow.call("GET", "/api/health", None, {}))
        return told[-1].status == 200

    flow.wait_until(healthy, "healthy")
    assert told[-1].document == {"status": "ok"}
