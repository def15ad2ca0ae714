"""One deadline over all of a webhook: keys, room, work on the body, storage, queue."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from devhost.senders import azure_monitor
from shared.errors import StorageUnavailable
from shared.intake import Intake
from shared.webhooks.azure_monitor import AzureMonitor
from shared.webhooks.base import WebhookRequest
from shared.webhooks.large_bodies import LARGE_BODY, LargeBodies, Overloaded
from shared.webhooks.rejections import BadSignature, BodyTooLarge
from shared.webhooks.secrets import KeysUnavailable, SourceSecrets
from shared.webhooks.standard import Standard
from tests.support.application import SOURCE, build_intake, build_services, note, pipeline, webhook
from tests.support.fakes import World
from tests.support.issuer import public_jwk, token
from tests.unit.shared.webhooks.gate_requests import ALERT, claims, sent
from tests.unit.shared.webhooks.sources import EXAMPLES

ALERTS = "alerts"
LONGER_AND_LONGER = (0.2, 2.0, 20.0)
"""Deadlines: on a busy machine the first may be over before what is to hang has begun."""


class SlowKeys:
    """KeyDirectory with one reading, that never answers at all, or only when it is asked for a later one."""

    def __init__(self, *, hangs: int | None = None) -> None:
        """`hangs` is the `after` at which it does."""
        self._hangs = hangs
        self.asked: list[int] = []

    def readings(self, _address: str) -> int:
        return 1

    async def keys(self, _address: str, *, after: int = 0) -> Sequence[Mapping[str, Any]]:
        self.asked.append(after)
        if after == self._hangs:
            await asyncio.Event().wait()
        return [public_jwk("first")]


@pytest.fixture(autouse=True)
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AzureMonitor, "answer_within", 0.2)


def taking_tokens(world: World, directory: SlowKeys) -> Intake:
    sources = {ALERTS: EXAMPLES["azure-monitor-token"].policy(ALERTS)}
    services = build_services(world, pipeline=replace(pipeline(), sources=sources))
    return Intake(services, SourceSecrets({}), directory)


def alert(world: World, key: str = "first") -> WebhookRequest:
    now = world.clock.now()
    shown = token(claims(iat=int(now.timestamp()), nbf=0, exp=int(now.timestamp()) + 3600), key)
    headers, query, body = azure_monitor.signed(ALERT, shown, now=now, header="authorization")
    return sent(headers, body, query)


@pytest.mark.parametrize("hangs", [0, 1])
async def test_keys_that_do_not_come_within_the_deadline_are_our_fault(
    world: World, monkeypatch: pytest.MonkeyPatch, hangs: int
) -> None:
    asked: list[int] = []
    for seconds in LONGER_AND_LONGER:
        monkeypatch.setattr(AzureMonitor, "answer_within", seconds)
        directory = SlowKeys(hangs=hangs)
        with pytest.raises(KeysUnavailable):
            await taking_tokens(world, directory).receive(ALERTS, alert(world, "second"))
        asked = directory.asked
        if hangs in asked:
            break
    assert asked == ([0, 1] if hangs else [0])


async def test_keys_that_come_in_time_decide(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AzureMonitor, "answer_within", 60.0)
    intake = taking_tokens(world, SlowKeys())
    assert await intake.receive(ALERTS, alert(world))
    with pytest.raises(BadSignature):
        await intake.receive(ALERTS, alert(world, "second"))


async def test_room_for_large_bodies_is_given_back_by_one_whose_storage_hangs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake = build_intake(build_services(world, large_bodies=LargeBodies(LARGE_BODY)))
    sending = webhook(world, note("x" * LARGE_BODY))

    async def hang() -> None:
        await asyncio.Event().wait()

    world.jobs.before("insert", hang)
    told: list[type[Exception]] = []
    for seconds in LONGER_AND_LONGER:
        monkeypatch.setattr(Standard, "answer_within", seconds)
        with pytest.raises((StorageUnavailable, Overloaded)) as caught:
            await intake.receive(SOURCE, sending)
        told.append(caught.type)
        if told[-1] is StorageUnavailable:
            break
    assert told[-1] is StorageUnavailable
    monkeypatch.setattr(Standard, "answer_within", 60.0)
    assert await intake.receive(SOURCE, sending)


async def test_a_body_over_the_limit_is_refused_though_there_is_no_room_for_large_ones(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Standard, "answer_within", 600.0)
    bodies = LargeBodies(LARGE_BODY)
    services = build_services(world, large_bodies=bodies)
    limit = services.pipeline.sources[SOURCE].max_body
    allowed, real = webhook(world, note("x" * LARGE_BODY)), webhook(world, note("x" * limit))
    announced = replace(allowed, headers={**allowed.headers, "content-length": str(limit + 1)})
    async with bodies.turn(LARGE_BODY + 1):
        for too_large in (real, announced):
            async with asyncio.timeout(60):  # well before the deadline
                with pytest.raises(BodyTooLarge):
                    await build_intake(services).receive(SOURCE, too_large)
    assert world.telemetry.counted("webhooks_rejected", source=SOURCE, code="body_too_large") == 2


async def test_a_body_that_finds_no_room_is_counted_as_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Standard, "answer_within", 0.05)
    bodies = LargeBodies(LARGE_BODY)
    async with bodies.turn(LARGE_BODY + 1):
        intake = build_intake(build_services(world, large_bodies=bodies))
        with pytest.raises(Overloaded):
            await intake.receive(SOURCE, webhook(world, note("x" * LARGE_BODY)))
    assert world.telemetry.counted("webhooks_rejected", source=SOURCE, code="overloaded") == 1


async def test_other_large_bodies_under_one_id_are_not_stored(world: World) -> None:
    intake = build_intake(build_services(world))
    for text in ("x", "y", "z", "y", "x"):
        assert await intake.receive(SOURCE, webhook(world, note(text * LARGE_BODY)))
    assert len(world.blobs.refs()) == 1
    assert world.telemetry.counted("webhooks_same_id_other_body", source=SOURCE) == 3
