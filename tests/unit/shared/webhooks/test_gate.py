"""The gate: what reaches a scheme, when published keys are fetched, and whose fault it is if they are not."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from devhost.senders import event_grid, github, meta, twilio
from shared.webhooks.base import Reply, WebhookEvent, WebhookRequest
from shared.webhooks.github import GitHub
from shared.webhooks.key_directory import KeyDirectory
from shared.webhooks.large_bodies import LARGE_BODY
from shared.webhooks.rejections import (
    BadSignature,
    BodyTooLarge,
    LengthRequired,
    MalformedBody,
    MethodNotAllowed,
    StaleTimestamp,
)
from shared.webhooks.secrets import KeysUnavailable, SourceNotConfigured
from tests.support.fakes import World
from tests.support.fakes.key_sets import FakeKeySets
from tests.support.issuer import public_jwk, token
from tests.unit.shared.webhooks.gate_requests import ADDRESS, GRID, alert_request, claims, gate, sent
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import ACCOUNT_SID, EXAMPLES


@pytest.fixture
def keys() -> FakeKeySets:
    made = FakeKeySets()
    made.published[ADDRESS] = [public_jwk("first")]
    return made


async def admitted(
    world: World, keys: KeyDirectory, request: WebhookRequest, name: str = "azure-monitor-token"
) -> Sequence[WebhookEvent]:
    admitting, policy = gate(world, EXAMPLES[name], keys)
    found = await admitting.admit(policy, request)
    assert not isinstance(found, Reply)
    return found


async def test_a_request_with_a_good_token_is_admitted_with_the_known_keys(
    world: World, keys: FakeKeySets
) -> None:
    (event,) = await admitted(world, keys, alert_request())
    assert event.event_id == "/alerts/1:fired"
    assert keys.asked == [(ADDRESS, 0)]
    assert world.telemetry.counted("webhooks_verified", source="source", secret="none") == 1


@pytest.mark.parametrize(
    "authorization",
    ["", "Basic dXNlcjpwYXNz", "Bearer", "Bearer x", "Bearer a.b.c", f"Bearer {token(claims(), kid=None)}"],
)
async def test_a_stranger_without_a_token_makes_nobody_fetch_keys(
    world: World, keys: FakeKeySets, authorization: str
) -> None:
    keys.published.clear()
    with pytest.raises(BadSignature):
        await admitted(world, keys, alert_request(authorization))
    assert keys.asked == []


@pytest.mark.case(103)
async def test_a_token_that_cannot_be_checked_is_our_fault_and_not_a_forgery(
    world: World, keys: FakeKeySets
) -> None:
    keys.published.clear()
    with pytest.raises(KeysUnavailable) as caught:
        await admitted(world, keys, alert_request())
    assert caught.value.code == "source_not_configured"


async def test_a_token_of_a_new_key_is_admitted_once_the_keys_are_read_again(
    world: World, keys: FakeKeySets
) -> None:
    await admitted(world, keys, alert_request())
    keys.published[ADDRESS] = [public_jwk("first"), public_jwk("second")]
    await admitted(world, keys, alert_request(key="second"))
    assert keys.asked == [(ADDRESS, 0), (ADDRESS, 0), (ADDRESS, 1)]


async def test_a_token_of_a_key_that_nobody_publishes_is_a_forgery(world: World, keys: FakeKeySets) -> None:
    with pytest.raises(BadSignature):
        await admitted(world, keys, alert_request(key="second"))


@pytest.mark.case(103)
async def test_a_token_of_a_new_key_is_no_forgery_while_the_newest_keys_cannot_be_had(
    world: World, keys: FakeKeySets
) -> None:
    await admitted(world, keys, alert_request())
    keys.published.clear()
    with pytest.raises(SourceNotConfigured):
        await admitted(world, keys, alert_request(key="second"))
    await admitted(world, keys, alert_request())


async def test_a_token_of_another_audience_or_time_is_refused_as_such(
    world: World, keys: FakeKeySets
) -> None:
    with pytest.raises(BadSignature):
        await admitted(world, keys, alert_request(aud="api://another"))
    world.clock.advance(timedelta(hours=2))
    with pytest.raises(StaleTimestamp):
        await admitted(world, keys, alert_request())


async def test_keys_are_not_fetched_for_a_source_with_a_secret(world: World, keys: FakeKeySets) -> None:
    example = EXAMPLES["event-grid-header"]
    headers, query, body = event_grid.signed(GRID, example.settings["A_SECRET"], now=NOW)
    (event,) = await admitted(world, keys, sent(headers, body, query), "event-grid-header")
    assert (event.event_id, keys.asked) == ("event-1", [])
    assert world.telemetry.counted("webhooks_verified", secret="A_SECRET") == 1


def github_request(body: bytes = b'{"action":"opened"}') -> WebhookRequest:
    headers, query, raw = github.signed(body, EXAMPLES["github"].settings["A_SECRET"], now=NOW)
    return sent(headers, raw, query)


async def admit_github(world: World, request: WebhookRequest, max_body: int = 1000) -> object:
    admitting, policy = gate(world, EXAMPLES["github"])
    return await admitting.admit(replace(policy, max_body=max_body), request)


async def test_the_limit_counts_the_bytes_that_came_and_those_that_were_announced(world: World) -> None:
    body = b'{"a":"' + b"x" * 92 + b'"}'
    assert await admit_github(world, github_request(body), max_body=100)
    with pytest.raises(BodyTooLarge, match="99 bytes"):
        await admit_github(world, github_request(body), max_body=99)
    small = github_request(b"{}")
    for announced in ("101", "9" * 400):
        headers = {**small.headers, "content-length": announced}
        with pytest.raises(BodyTooLarge):
            await admit_github(world, replace(small, headers=headers), max_body=100)


@pytest.mark.parametrize("length", ["", " ", "-1", "1e3", "0x10", "5, 5", "\u0665", "chunked"])
async def test_a_body_without_a_length_is_refused_before_anything_is_checked(
    world: World, length: str
) -> None:
    request = github_request()
    with pytest.raises(LengthRequired):
        await admit_github(world, replace(request, headers={**request.headers, "content-length": length}))


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "post", ""])
async def test_another_method_is_refused_and_told_which_there_are(world: World, method: str) -> None:
    with pytest.raises(MethodNotAllowed) as caught:
        await admit_github(world, replace(github_request(), method=method))
    assert caught.value.headers == {"Allow": "POST"}


@pytest.mark.case(72)
async def test_a_get_of_twilio_is_refused_with_the_method_to_configure(world: World) -> None:
    admitting, policy = gate(world, EXAMPLES["twilio"])
    with pytest.raises(MethodNotAllowed) as caught:
        await admitting.admit(policy, sent({"x-twilio-signature": "x"}, b"", "Body=a", "GET"))
    assert caught.value.headers == {"Allow": "POST"}


@pytest.mark.case(80)
async def test_the_shared_key_that_verified_is_counted_by_its_setting(world: World) -> None:
    example = EXAMPLES["twilio-shared-key"]
    admitting, policy = gate(world, example)
    body = f"AccountSid={ACCOUNT_SID}&MessageSid=SM1".encode()
    secret = example.settings["A_SHARED_KEY"]
    headers, query, raw = twilio.signed(body, secret, now=NOW, shared_key="key-1")
    await admitting.admit(policy, sent(headers, raw, query))
    assert world.telemetry.counted("webhooks_verified", secret="A_SHARED_KEY") == 1


@pytest.mark.case(86)
@pytest.mark.parametrize(
    ("origin", "status"), [("eventgrid.azure.net", 200), ("evil.example", 405), ("", 405)]
)
async def test_options_are_answered_for_a_known_origin_alone(world: World, origin: str, status: int) -> None:
    admitting, policy = gate(world, EXAMPLES["event-grid-token"])
    request = sent({"webhook-request-origin": origin}, b"", method="OPTIONS")
    if status == 200:
        reply = await admitting.admit(policy, request)
        assert isinstance(reply, Reply)
        assert reply.status == 200
        return
    with pytest.raises(MethodNotAllowed) as caught:
        await admitting.admit(policy, request)
    assert caught.value.headers == {"Allow": "OPTIONS, POST"}


@pytest.mark.case(82)
async def test_metas_handshake_by_get_needs_no_signature(world: World) -> None:
    example = EXAMPLES["meta"]
    admitting, policy = gate(world, example)
    query = meta.handshake(example.settings["A_VERIFY_TOKEN"])
    reply = await admitting.admit(policy, sent({}, b"", query, "GET"))
    assert isinstance(reply, Reply)
    assert (reply.status, reply.body, reply.content_type) == (
        200,
        b"1158201444",
        "text/plain; charset=utf-8",
    )


@pytest.mark.case(43)
@pytest.mark.parametrize("token_setting", [{}, {"A_VERIFY_TOKEN": ""}, {"A_VERIFY_TOKEN": "short"}])
async def test_without_a_verify_token_no_handshake_is_answered_and_it_is_our_fault(
    world: World, token_setting: dict[str, str]
) -> None:
    example = EXAMPLES["meta"]
    settings = {"A_SECRET": example.settings["A_SECRET"], **token_setting}
    admitting, policy = gate(world, replace(example, settings=settings))
    for query in (meta.handshake(""), meta.handshake("short"), "hub.mode=subscribe&hub.challenge=1"):
        with pytest.raises(SourceNotConfigured):
            await admitting.admit(policy, sent({}, b"", query, "GET"))


@pytest.mark.case(43)
async def test_an_empty_verify_token_is_refused(world: World) -> None:
    admitting, policy = gate(world, EXAMPLES["meta"])
    for query in (meta.handshake(""), "hub.mode=subscribe&hub.challenge=1"):
        with pytest.raises(BadSignature):
            await admitting.admit(policy, sent({}, b"", query, "GET"))


async def test_a_large_body_is_checked_and_read_beside_the_event_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    read = GitHub.read

    def noted(self: GitHub, *given: Any) -> tuple[WebhookEvent, ...]:
        threads.append(threading.get_ident())
        return read(self, *given)

    monkeypatch.setattr(GitHub, "read", noted)
    for size in (10, LARGE_BODY):
        body = b'{"a":"' + b"x" * size + b'"}'
        await admit_github(world, github_request(body), max_body=LARGE_BODY * 2)
    assert threads[0] == threading.get_ident() != threads[1]


async def test_what_is_verified_and_malformed_is_counted_as_verified(world: World) -> None:
    with pytest.raises(MalformedBody):
        await admit_github(world, github_request(b"[]"))
    assert world.telemetry.counted("webhooks_verified", source="source", secret="A_SECRET") == 1
