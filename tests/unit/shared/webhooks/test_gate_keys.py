"""The gate with keys that a real issuer publishes over HTTP, and the addresses that requests bring along."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from devhost.senders import event_grid
from shared.adapters.key_sets import KeySets
from shared.webhooks.base import Reply
from shared.webhooks.rejections import (
    BadSignature,
)
from shared.webhooks.secrets import KeysUnavailable
from tests.support.fakes import World
from tests.support.issuer import Issuer, content, public_jwk, running_issuer, token
from tests.unit.shared.webhooks.gate_requests import (
    GRID,
    alert_request,
    claims,
    gate,
    sent,
)
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import EXAMPLES, Example


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with running_issuer() as running:
        yield running


@pytest.fixture
async def key_sets() -> AsyncIterator[KeySets]:
    made = KeySets()
    yield made
    await made.aclose()


def of_issuer(name: str, issuer: Issuer) -> Example:
    """A source whose keys the local issuer publishes."""
    example = EXAMPLES[name]
    table = {**example.table, "token": {**example.table["token"], "keys_url": issuer.address}}
    return replace(example, table=table, settings={})


async def test_a_token_is_checked_with_keys_read_over_http(
    world: World, issuer: Issuer, key_sets: KeySets
) -> None:
    admitting, policy = gate(world, of_issuer("azure-monitor-token", issuer), key_sets)
    for _ in range(3):
        assert await admitting.admit(policy, alert_request())
    assert issuer.paths == ["/keys"]


async def test_unknown_keys_make_one_further_fetch_however_many_there_are(
    world: World, issuer: Issuer, key_sets: KeySets
) -> None:
    admitting, policy = gate(world, of_issuer("azure-monitor-token", issuer), key_sets)
    for _ in range(5):
        with pytest.raises(BadSignature):
            await admitting.admit(policy, alert_request(key="second"))
    assert issuer.fetches == 1  # that one was new enough


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
            with pytest.raises(BadSignature):
                await admitting.admit(policy, sent(headers, raw, query))
    origin = {"webhook-request-origin": "eventgrid.azure.net", "webhook-request-callback": elsewhere}
    assert isinstance(await admitting.admit(policy, sent(origin, b"", method="OPTIONS")), Reply)
    assert set(issuer.paths) == {"/keys"}
