"""What every sender gets for an answer, whatever its scheme, when things go well and when they do not."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.http.exchange import HttpAnswer, HttpRequest
from shared.webhooks.base import WebhookRequest
from shared.webhooks.registry import scheme_names
from tests.unit.shared.webhooks.hostile import REQUESTS
from tests.unit.shared.webhooks.receiving import (
    ALWAYS_200,
    DELIVERIES,
    EVERY,
    OWN_FORM,
    TIMED,
    Receiver,
    code,
)
from tests.unit.shared.webhooks.sources import EXAMPLES

TIME_OUTS = {"slack": 3, "shopify": 5, "twilio": 5, "github": 10, "event-grid": 30}
"""Seconds that a sender waits; the others wait 15 or more."""
CODES = {
    "bad_signature",
    "body_too_large",
    "length_required",
    "malformed_body",
    "method_not_allowed",
    "stale_timestamp",
    "unsupported_media_type",
}


async def hang() -> None:
    await asyncio.Event().wait()


def test_each_scheme_has_a_delivery() -> None:
    assert {EXAMPLES[name].scheme for name in DELIVERIES} == set(scheme_names())


@EVERY
async def test_a_good_delivery_is_one_job(source: str) -> None:
    receiver = Receiver()
    answer = await receiver.deliver(source)
    assert answer.status == (200 if source in ALWAYS_200 else 202)
    (job,) = receiver.world.jobs.all_jobs()
    assert job.source == source
    assert len(receiver.world.bus.accepted()) == 1


@pytest.mark.case(94)
@EVERY
async def test_a_forged_request_with_the_same_id_does_not_disturb_the_real_one(source: str) -> None:
    receiver = Receiver()
    real = receiver.sent(source)
    forged = replace(real, headers={**real.headers, **forged_proof(real.headers)}, url=real.url.split("?")[0])
    refused = await receiver.receive(forged)
    assert (refused.status, code(refused)) == (401, "bad_signature")
    assert (receiver.world.jobs.calls, receiver.world.open.calls) == ([], [])
    assert (await receiver.receive(real)).status in {200, 202}
    assert len(receiver.world.bus.accepted()) == 1


def forged_proof(headers: object) -> dict[str, str]:
    """Each header that signs or is a secret, spoilt."""
    assert isinstance(headers, dict)
    proofs = [name for name in headers if "signature" in name or "hmac" in name or name.endswith("-secret")]
    return {name: headers[name][:-2] + ("AA" if headers[name][-2:] != "AA" else "BB") for name in proofs}


@EVERY
async def test_storage_that_is_away_is_503_and_nothing_is_acknowledged(source: str) -> None:
    receiver = Receiver()
    receiver.world.storage_down()
    answer = await receiver.deliver(source)
    assert (answer.status, code(answer)) == (503, "storage_unavailable")


@pytest.mark.case(104)
@EVERY
async def test_a_queue_that_hangs_is_given_up_before_the_sender_gives_up(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme = EXAMPLES[source].implementation
    assert scheme.answer_within < TIME_OUTS.get(scheme.name, 15)
    for within in (0.2, 2.0, 20.0):
        monkeypatch.setattr(type(scheme), "answer_within", within)
        receiver = Receiver()
        receiver.world.bus.before("send", hang)
        answer = await receiver.deliver(source)
        assert answer.status == 503
        if code(answer) == "queue_unavailable":
            return
    pytest.fail(
        "no answer said that the queue is away"
    )  # a busy machine comes to it only in the longer times


@pytest.mark.case(4)
@EVERY
async def test_a_chunked_body_which_the_platform_hands_over_empty_is_411(source: str) -> None:
    receiver = Receiver()
    sent = receiver.sent(source)
    headers = {name: value for name, value in sent.headers.items() if name != "content-length"}
    answer = await receiver.receive(
        replace(sent, headers={**headers, "transfer-encoding": "chunked"}, body=b"")
    )
    assert (answer.status, code(answer)) == (411, "length_required")


@pytest.mark.case(106)
@EVERY
async def test_a_body_over_the_cap_is_413_before_its_signature_is_looked_at(source: str) -> None:
    receiver = Receiver()
    cap = receiver.services.pipeline.sources[source].max_body
    sent = receiver.sent(source)
    large = replace(sent, body=b"x" * (cap + 1), headers={**sent.headers, "content-length": "5"})
    answer = await receiver.receive(large)
    assert (answer.status, code(answer)) == (413, "body_too_large")
    announced = replace(sent, headers={**sent.headers, "content-length": str(cap + 1)})
    assert (await receiver.receive(announced)).status == 413
    largest = replace(large, body=b"x" * cap)
    form_of_twilio = source in {"twilio", "twilio-shared-key"}  # has a limit of its own
    assert (await receiver.receive(largest)).status in ({413} if form_of_twilio else {400, 401, 415})


@pytest.mark.case(87)
@EVERY
@pytest.mark.parametrize("method", ["HEAD", "GET", "PUT", "DELETE", "TRACE"])
async def test_a_probe_by_another_method_is_405_and_touches_nothing(source: str, method: str) -> None:
    receiver = Receiver()
    probe = replace(receiver.sent(source), method=method, body=b"", url="https://hooks.example.com/")
    answer = await receiver.receive(probe)
    assert (answer.status, code(answer)) == (405, "method_not_allowed")
    assert "POST" in answer.headers["Allow"]
    assert receiver.world.jobs.calls == []


@pytest.mark.case(37)
@EVERY
async def test_header_names_are_what_the_platform_made_of_them_lower_case(source: str) -> None:
    assert all(name == name.lower() for name in Receiver().sent(source).headers)


@pytest.mark.case(112)
@EVERY
async def test_an_event_that_no_route_wants_is_200_only_if_it_is_the_senders(source: str) -> None:
    receiver = Receiver(event="something.else")
    sent = receiver.sent(source)
    answer = await receiver.receive(sent)
    assert answer.status == 200
    assert source in OWN_FORM or json.loads(answer.body) == {"status": "ignored"}
    forged = replace(sent, headers={**sent.headers, **forged_proof(sent.headers)}, url=sent.url.split("?")[0])
    assert (await receiver.receive(forged)).status == 401
    assert receiver.world.jobs.all_jobs() == []


@pytest.mark.case(88)
@pytest.mark.parametrize(
    ("source", "body"), [("event-grid-header", b"[]"), ("meta", b'{"object":"page","entry":[]}')]
)
async def test_a_batch_of_nothing_is_taken_and_does_nothing(source: str, body: bytes) -> None:
    receiver = Receiver()
    assert (await receiver.deliver(source, body)).status == 200
    assert receiver.world.jobs.all_jobs() == []


@pytest.mark.case(88)
async def test_a_ping_is_ignored_if_it_is_signed() -> None:
    receiver = Receiver(event="issues.*")
    ping = receiver.sent("github", b'{"zen":"Keep it logically awesome."}', event="ping")
    assert json.loads((await receiver.receive(ping)).body) == {"status": "ignored"}
    unsigned = {name: value for name, value in ping.headers.items() if name != "x-hub-signature-256"}
    assert (await receiver.receive(replace(ping, headers=unsigned))).status == 401


@pytest.mark.case(17)
@EVERY
async def test_an_empty_body_is_refused_even_with_its_own_good_signature(source: str) -> None:
    receiver = Receiver()
    answer = await receiver.deliver(source, b"")
    assert answer.status in {400, 401}
    assert receiver.world.jobs.calls == []


@pytest.mark.case(108)
@EVERY
@pytest.mark.parametrize("body", [b"null", b'"x"', b"1", b"[1]", b"{}", b'[{"a":1}]', b'{"a":{"a":[]}}'])
async def test_json_of_another_shape_is_never_our_own_fault(source: str, body: bytes) -> None:
    answer = await Receiver().deliver(source, body)
    assert answer.status in {200, 202, 400, 401}


@pytest.mark.case(54, 56)
@pytest.mark.parametrize("source", TIMED)
@pytest.mark.parametrize("seconds", [-301, 301])
async def test_a_stale_request_says_so_and_its_skew_is_measured(source: str, seconds: int) -> None:
    receiver = Receiver()
    sent = receiver.sent(source)
    receiver.world.clock.advance(-seconds)
    answer = await receiver.receive(sent)
    assert (answer.status, code(answer)) == (401, "stale_timestamp")
    telemetry = receiver.world.telemetry
    assert telemetry.counted("webhooks_rejected", source=source, code="stale_timestamp") == 1
    assert telemetry.observed("webhooks_clock_skew_seconds", source=source) == [seconds]


@pytest.mark.case(26)
@pytest.mark.parametrize("source", [name for name in DELIVERIES if not name.endswith("-query")])
async def test_a_header_that_came_twice_is_refused(source: str) -> None:
    """The platform joins repeated headers with a comma."""
    receiver = Receiver()
    sent = receiver.sent(source)
    proofs = forged_proof(sent.headers)
    twice = {name: f"{sent.headers[name]},{sent.headers[name]}" for name in proofs}
    assert (await receiver.receive(replace(sent, headers={**sent.headers, **twice}))).status == 401


@pytest.mark.case(27)
@EVERY
async def test_a_signature_beyond_ascii_is_401(source: str) -> None:
    receiver = Receiver()
    sent = receiver.sent(source)
    odd = dict.fromkeys(forged_proof(sent.headers), "\u00e9\udcff")
    answer = await receiver.receive(replace(sent, headers={**sent.headers, **odd}, url=f"{sent.url}\u00e9"))
    assert (answer.status, code(answer)) == (401, "bad_signature")


@pytest.mark.case(42)
@pytest.mark.parametrize("source", [name for name in DELIVERIES if EXAMPLES[name].secrets])
async def test_a_source_without_its_secret_is_503(source: str) -> None:
    answer = await Receiver(settings={}).deliver(source)
    assert (answer.status, code(answer)) == (503, "source_not_configured")
    assert answer.headers["Retry-After"]


@pytest.mark.case(53)
async def test_which_secret_verified_is_counted() -> None:
    receiver = Receiver()
    await receiver.deliver("stripe")
    assert receiver.world.telemetry.counted("webhooks_verified", source="stripe", secret="A_SECRET") == 1


@pytest.mark.parametrize(("source", "prefix"), [("standard", "h_"), ("standard-public", "")])
async def test_a_personal_id_is_hashed_with_a_secret_and_never_with_a_public_key(
    source: str, prefix: str
) -> None:
    receiver = Receiver()
    await receiver.deliver(source, message_id="somebody@example.com")
    (job,) = receiver.world.jobs.all_jobs()
    assert job.event_id[:2] == prefix


async def test_a_personal_user_id_that_no_key_could_hash_is_our_own_fault() -> None:
    receiver = Receiver(user="data.user")
    body = b'{"type":"a","data":{"user":"ada@example.com"}}'
    refused = await receiver.deliver("standard-public", body)
    assert (refused.status, code(refused)) == (503, "source_not_configured")
    assert receiver.world.jobs.all_jobs() == []
    assert (await receiver.deliver("standard", body)).status == 202


@pytest.mark.fuzz
@pytest.mark.case(6, 27)
@settings(max_examples=150, deadline=None)
@given(incoming=REQUESTS, length=st.just(None) | st.text(max_size=5))
def test_whatever_comes_there_is_no_answer_but_those_that_are_promised(
    incoming: WebhookRequest, length: str | None
) -> None:
    receiver = Receiver()
    counted = str(len(incoming.body)) if length is None else length
    headers = {**incoming.headers, "content-length": counted}

    async def all_answers() -> list[HttpAnswer]:
        return [
            await receiver.receive(
                HttpRequest(
                    method=incoming.method,
                    url=f"https://hooks.example.com/api?{incoming.query}",
                    headers=headers,
                    params={"source": source},
                    body=incoming.body,
                )
            )
            for source in EXAMPLES
        ]

    for source, answer in zip(EXAMPLES, asyncio.run(all_answers()), strict=True):
        assert answer.status in {200, 400, 401, 405, 411, 413, 415}, source
        assert answer.status == 200 or code(answer) in CODES, source
