"""Every scheme and way over HTTP on a whole stack: copies, forgeries, handshakes, outages, a batch, kills."""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from devhost.senders import event_grid, meta, slack
from devhost.stack import Part
from shared.failpoints import Point
from shared.webhooks.registry import scheme_named
from tests.flows.driver import FAST, Flow, assert_succeeded_once, until_told
from tests.flows.every_scheme import (
    SENDERS,
    SILENT,
    Answer,
    body_of,
    jobs_of,
    published_keys,
    send,
    sent,
    settings,
    write_pipeline,
)
from tests.support.stacks import flow_stack
from tests.unit.shared.webhooks.batches import message, whatsapp
from tests.unit.shared.webhooks.receiving import ALWAYS_200, OWN_FORM
from tests.unit.shared.webhooks.sources import EXAMPLES

pytestmark = [pytest.mark.flows]

COPIES = 20
BATCH = 50
BATCH_SECONDS = 300.0
"""In which it is taken at last, some of it each time that it comes."""
TRIES = 5
SLACK_SECONDS = 1.0
"""By how much an answer may be later than the scheme allows, on a busy machine."""
EVERY = pytest.mark.parametrize("source", SENDERS)
_numbers = itertools.count(2)


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flow]:
    folder = tmp_path_factory.mktemp("every-scheme")
    with published_keys() as issuer:
        pipeline = write_pipeline(folder / "pipeline.toml", issuer)
        with flow_stack(folder / "state", settings={**FAST, **settings()}, pipeline=pipeline) as stack:
            yield Flow(stack)


def deliver(flow: Flow, source: str, body: bytes) -> tuple[Answer, bool]:
    """As a sender that tries again until it is told 2xx; whether it had to."""
    answer, again = answered(lambda: send(flow, source, sent(source, body)))
    assert answer.status in (200, 202), answer
    return answer, again


def answered(ask: Callable[[], Answer]) -> tuple[Answer, bool]:
    """The first answer but 503, as on a busy machine storage or keys may be late; whether one came before."""
    until, again = time.monotonic() + BATCH_SECONDS, False
    while (answer := ask()).status in (0, 503):
        assert time.monotonic() < until, answer
        again = True
        time.sleep(0.2)
    return answer, again


def assert_refused(flow: Flow, source: str, body: bytes) -> None:
    """As a forgery. fal.ai's requests do not name their key: what fits none may be signed with a new one."""
    forgery = sent(source, body, forged=True)
    if source == "fal":
        answer = send(flow, source, forgery)
        refusals = {(401, "bad_signature"), (503, "source_not_configured")}
    else:
        answer, _ = answered(lambda: send(flow, source, forgery))
        refusals = {(401, "bad_signature")}
    assert (answer.status, answer.document["code"]) in refusals


@EVERY
def test_copies_that_come_at_once_after_a_forgery_are_one_job(flow: Flow, source: str) -> None:
    body, before = body_of(source, next(_numbers)), jobs_of(flow)
    assert_refused(flow, source, body)
    assert jobs_of(flow) == before
    with ThreadPoolExecutor(COPIES) as pool:
        results = list(pool.map(lambda _: deliver(flow, source, body), range(COPIES)))
    (job_id,) = jobs_of(flow) - before
    answers = [answer for answer, _ in results]
    if source not in OWN_FORM:
        assert {answer.document["job_id"] for answer in answers} == {job_id}
        new = [answer for answer in answers if not answer.document["duplicate"]]
        assert {answer.status for answer in new} <= {200 if source in ALWAYS_200 else 202}
        assert {answer.status for answer in answers if answer not in new} <= {200}
        assert len(new) == 1 or any(again for _, again in results)
        assert len(new) <= 1
    else:
        assert {answer.status for answer in answers} == {200}
    assert_refused(flow, source, body)
    assert_succeeded_once(flow, job_id)
    assert jobs_of(flow) - before == {job_id}


def test_meta_s_handshake_is_answered_to_who_knows_the_token(flow: Flow) -> None:
    token = EXAMPLES["meta"].settings["A_VERIFY_TOKEN"]
    good = send(flow, "meta", ({}, meta.handshake(token, "1158201444"), b""), "GET")
    assert (good.status, good.content) == (200, b"1158201444")
    assert good.headers["content-type"].startswith("text/plain")
    assert send(flow, "meta", ({}, meta.handshake("somebody's guess"), b""), "GET").status == 401


@pytest.mark.parametrize("source", ["event-grid-header", "event-grid-query", "event-grid-token"])
def test_cloud_events_handshake_gives_consent_to_event_grid_only(flow: Flow, source: str) -> None:
    _, query, _ = sent(source, b"[]")
    asked = {"webhook-request-origin": "eventgrid.azure.net", "webhook-request-rate": "120"}
    good = send(flow, source, (asked, query, b""), "OPTIONS")
    assert (good.status, good.headers["webhook-allowed-origin"]) == (200, "eventgrid.azure.net")
    other = {"webhook-request-origin": "elsewhere.example"}
    assert send(flow, source, (other, query, b""), "OPTIONS").status == 405


@pytest.mark.parametrize("source", ["event-grid-header", "event-grid-query", "event-grid-token"])
def test_event_grid_s_validation_gets_its_code_back(flow: Flow, source: str) -> None:
    event = {"id": "1", "eventType": event_grid.VALIDATION, "data": {"validationCode": "code-1"}}
    body, before = json.dumps([event]).encode(), jobs_of(flow)
    good, _ = answered(lambda: send(flow, source, sent(source, body)))
    assert (good.status, good.document) == (200, {"validationResponse": "code-1"})
    assert send(flow, source, sent(source, body, forged=True)).status == 401
    assert jobs_of(flow) == before


def test_slack_s_verification_gets_its_challenge_back(flow: Flow) -> None:
    body, before = b'{"type":"url_verification","challenge":"3eZbrw1aB"}', jobs_of(flow)
    good = send(flow, "slack", sent("slack", body))
    assert (good.status, good.content) == (200, b"3eZbrw1aB")
    forged = slack.signed(body, "a secret that somebody made up", now=datetime.now(UTC))
    assert send(flow, "slack", forged).status == 401
    assert jobs_of(flow) == before


@pytest.mark.parametrize("source", ["stripe", "event-grid-token"])
def test_an_event_whose_first_send_fails_is_not_lost_and_runs_once(flow: Flow, source: str) -> None:
    body, before = body_of(source, next(_numbers)), jobs_of(flow)
    flow.failpoints.error(Point.INTAKE_BEFORE_SEND)
    flow.wait_until(
        lambda: (
            send(flow, source, sent(source, body)).status == 503
            and flow.failpoints.fired(Point.INTAKE_BEFORE_SEND)
        ),
        "the send failed",
    )
    answer, _ = deliver(flow, source, body)
    (job_id,) = jobs_of(flow) - before
    assert answer.document == {"status": "accepted", "job_id": job_id, "duplicate": True}
    assert_succeeded_once(flow, job_id)


def test_a_dead_broker_is_a_503_and_the_next_delivery_runs_the_job(flow: Flow) -> None:
    body, before = body_of("twilio", next(_numbers)), jobs_of(flow)
    flow.stack.kill(Part.BROKER, restart=False)
    try:
        refused = until_told("queue_unavailable", lambda: send(flow, "twilio", sent("twilio", body)))
    finally:
        flow.stack.resume(Part.BROKER)
    assert refused.status == 503
    assert int(refused.headers["retry-after"]) > 0
    deliver(flow, "twilio", body)
    (job_id,) = jobs_of(flow) - before
    assert_succeeded_once(flow, job_id)


@pytest.mark.kills
def test_a_batch_cut_by_a_kill_is_completed_by_its_repeat(flow: Flow) -> None:
    people = [next(_numbers) for _ in range(BATCH)]
    body = json.dumps(whatsapp([message(person) for person in people])).encode()
    before = jobs_of(flow)
    flow.failpoints.kill(Point.INTAKE_AFTER_SEND, hit=BATCH // 2)
    assert send(flow, "meta", sent("meta", body)).status == 0
    flow.failpoints.wait_fired(Point.INTAKE_AFTER_SEND)
    assert 0 < len(jobs_of(flow) - before) < BATCH
    deliver(flow, "meta", body)
    jobs = jobs_of(flow) - before
    assert len(jobs) == BATCH
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda job_id: assert_succeeded_once(flow, job_id), jobs))


def test_while_storage_stands_still_each_sender_is_told_in_its_time(flow: Flow) -> None:
    """Also when the sender's published keys cannot be had."""
    sources = ["slack", "shopify", "stripe", "event-grid-token", SILENT]
    signs_as = {SILENT: "event-grid-token"}
    numbers, before = {source: next(_numbers) for source in sources}, jobs_of(flow)
    deliver(flow, "event-grid-token", body_of("event-grid-token", next(_numbers)))  # its keys are known

    def timed(source: str) -> tuple[Answer, float]:
        like = signs_as.get(source, source)
        signed = sent(like, body_of(like, numbers[source]))
        begun = time.monotonic()
        return send(flow, source, signed), time.monotonic() - begun

    def in_its_time(source: str) -> float:
        """The seconds of an answer; a busy machine may be late at times, a host without a bound always is."""
        scheme = scheme_named("event-grid" if source == SILENT else EXAMPLES[source].scheme)
        wanted = "source_not_configured" if source == SILENT else "storage_unavailable"
        took = []
        for _ in range(TRIES):
            answer, seconds = timed(source)
            assert (answer.status, answer.document["code"]) == (503, wanted), source
            took.append(seconds)
            if seconds < scheme.answer_within + SLACK_SECONDS:
                return seconds
        raise AssertionError(f"{source} was never told in its time: {took}")

    flow.stack.freeze(Part.AZURITE)
    try:
        with ThreadPoolExecutor(len(sources)) as pool:
            assert len(list(pool.map(in_its_time, sources))) == len(sources)
    finally:
        flow.stack.thaw(Part.AZURITE)
    for source in set(sources) - {SILENT}:
        deliver(flow, source, body_of(source, numbers[source]))
    assert len(jobs_of(flow) - before) == len(sources)
