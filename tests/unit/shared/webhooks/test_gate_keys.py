"""The gate with keys that a real issuer publishes over HTTP, and the addresses that requests bring along."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from devhost.senders import event_grid, fal
from shared.adapters.key_sets import AGAIN_SECONDS, KeySets
from shared.webhooks.base import Jwk, Reply, WebhookRequest
from shared.webhooks.rejections import BadSignature
from shared.webhooks.secrets import KeysUnavailable
from tests.support.fakes import World
from tests.support.issuer import Issuer, content, public_jwk, running_issuer, token
from tests.unit.shared.webhooks.gate_requests import GRID, alert_request, claims, gate, sent
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import EXAMPLES, Example


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with running_issuer() as running:
        yield running


@dataclass(slots=True)
class Seconds:
    """A monotonic clock that a test moves."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
async def key_sets(seconds: Seconds) -> AsyncIterator[KeySets]:
    made = KeySets(seconds)
    yield made
    await made.aclose()


def of_issuer(name: str, issuer: Issuer) -> Example:
    """A source whose keys the local issuer publishes."""
    example = EXAMPLES[name]
    address = {"keys_url": issuer.address}
    own = {"token": {**example.table["token"], **address}} if "token" in example.table else address
    return replace(example, table={**example.table, **own}, settings={})


async def test_a_token_is_checked_with_keys_read_over_http(
    world: World, issuer: Issuer, key_sets: KeySets
) -> None:
    admitting, policy = gate(world, of_issuer("azure-monitor-token", issuer), key_sets)
    for _ in range(3):
        assert await admitting.admit(policy, alert_request())
    assert issuer.paths == ["/keys"]


def fal_request(seed: str) -> WebhookRequest:
    headers, query, body = fal.signed(b'{"request_id":"1","status":"OK","payload":{}}', seed, now=NOW)
    return sent(headers, body, query)


OLD, NEW = (base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2))
ROTATIONS: dict[str, tuple[WebhookRequest, WebhookRequest, Jwk]] = {
    "azure-monitor-token": (alert_request(), alert_request(key="second"), public_jwk("second")),
    "fal": (fal_request(OLD), fal_request(NEW), fal.published(NEW)),
}
"""By source: requests of the key that is published at first and of the one after it."""


@pytest.fixture(params=ROTATIONS)
def rotation(request: pytest.FixtureRequest, issuer: Issuer) -> str:
    issuer.keys = [public_jwk("first"), fal.published(OLD)]
    return str(request.param)


@pytest.mark.case(103)
async def test_a_key_that_was_published_a_moment_ago_is_waited_for_and_no_forgery(
    world: World, issuer: Issuer, key_sets: KeySets, seconds: Seconds, rotation: str
) -> None:
    old, new, published = ROTATIONS[rotation]
    admitting, policy = gate(world, of_issuer(rotation, issuer), key_sets)
    assert await admitting.admit(policy, old)
    issuer.keys = [dict(published)]
    for passed in (0.0, AGAIN_SECONDS - 1):
        seconds.now += passed
        with pytest.raises(KeysUnavailable):
            await admitting.admit(policy, new)
    assert issuer.fetches == 1
    seconds.now += 1
    assert await admitting.admit(policy, new)
    assert issuer.fetches == 2


async def test_a_flood_of_unknown_keys_makes_a_fetch_a_minute_and_each_of_them_proves_one_wrong(
    world: World, issuer: Issuer, key_sets: KeySets, seconds: Seconds, rotation: str
) -> None:
    _, unknown, _ = ROTATIONS[rotation]
    admitting, policy = gate(world, of_issuer(rotation, issuer), key_sets)
    for minute in range(3):
        with pytest.raises(BadSignature):  # the keys were read since it came
            await admitting.admit(policy, unknown)
        for _ in range(20):
            with pytest.raises(KeysUnavailable):
                await admitting.admit(policy, unknown)
        assert issuer.fetches == minute + 1
        seconds.now += AGAIN_SECONDS


async def test_a_known_key_is_served_in_the_midst_of_such_a_flood(
    world: World, issuer: Issuer, key_sets: KeySets, rotation: str
) -> None:
    known, unknown, _ = ROTATIONS[rotation]
    admitting, policy = gate(world, of_issuer(rotation, issuer), key_sets)
    requests = [unknown, known] * 10
    answers = await asyncio.gather(
        *(admitting.admit(policy, request) for request in requests), return_exceptions=True
    )
    assert not any(isinstance(answer, BaseException) for answer in answers[1::2])
    assert all(isinstance(answer, BadSignature | KeysUnavailable) for answer in answers[::2])
    assert issuer.fetches == 1


@pytest.mark.case(103)
async def test_while_the_issuer_is_away_tokens_wait_and_strangers_do_not(
    world: World, issuer: Issuer, key_sets: KeySets
) -> None:
    issuer.answer = content(b"", 500)
    admitting, policy = gate(world, of_issuer("event-grid-token", issuer), key_sets)
    headers, query, body = event_grid.signed(GRID, token(claims()), now=NOW, header="authorization")
    with pytest.raises(KeysUnavailable):
        await admitting.admit(policy, sent(headers, body, query))
    with pytest.raises(BadSignature):
        await admitting.admit(policy, sent({**headers, "authorization": ""}, body, query))


@pytest.mark.case(115)
async def test_no_address_in_a_request_is_ever_fetched(
    world: World, issuer: Issuer, key_sets: KeySets
) -> None:
    elsewhere = f"{issuer.origin}/elsewhere"
    admitting, policy = gate(world, of_issuer("event-grid-token", issuer), key_sets)
    pointed = {"jku": elsewhere, "x5u": elsewhere, "jwk": public_jwk("second"), "x5c": ["AA"]}
    validation = {
        "id": "1",
        "eventType": event_grid.VALIDATION,
        "data": {"validationCode": "code-1", "validationUrl": elsewhere},
    }
    body = json.dumps([validation]).encode()
    for key, known in (("first", True), ("second", False)):
        secret = token(claims(iss=claims()["iss"]), key, headers=pointed)
        headers, query, raw = event_grid.signed(body, secret, now=NOW, header="authorization")
        headers["webhook-request-callback"] = elsewhere
        if known:
            assert isinstance(await admitting.admit(policy, sent(headers, raw, query)), Reply)
        else:
            with pytest.raises(KeysUnavailable):
                await admitting.admit(policy, sent(headers, raw, query))
    origin = {"webhook-request-origin": "eventgrid.azure.net", "webhook-request-callback": elsewhere}
    assert isinstance(await admitting.admit(policy, sent(origin, b"", method="OPTIONS")), Reply)
    assert set(issuer.paths) == {"/keys"}
