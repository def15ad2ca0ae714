"""What is refused before anything is stored, and large bodies off the event loop."""

import threading

import pytest

from shared.intake import Intake
from shared.services import Services
from shared.webhooks.base import Options, Trust, WebhookEvent, WebhookRequest
from shared.webhooks.rejections import (
    BadSignature,
    BodyTooLarge,
    LengthRequired,
    MalformedBody,
    StaleTimestamp,
    UnknownSource,
    WebhookRejected,
)
from shared.webhooks.secrets import SourceNotConfigured
from shared.webhooks.standard import Standard
from tests.support.application import SOURCE, build_intake, note, webhook
from tests.support.fakes import World
from tests.unit.shared.one_event import receive


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({"webhook-signature": ""}, BadSignature),
        ({"webhook-signature": "v1,AAAA"}, BadSignature),
        ({"webhook-signature": "v1,\u00e9"}, BadSignature),
        ({"webhook-timestamp": "1"}, BadSignature),
        ({"content-length": ""}, LengthRequired),
        ({"content-length": "-1"}, LengthRequired),
        ({"content-length": "\u0665"}, LengthRequired),
        ({"content-length": str(256 * 1024 + 1)}, BodyTooLarge),
        ({"content-length": "9" * 5000}, BodyTooLarge),
    ],
)
async def test_what_is_refused_is_not_stored(
    world: World, intake: Intake, headers: dict[str, str], error: type[WebhookRejected]
) -> None:
    with pytest.raises(error):
        await receive(intake, world, headers=headers)
    assert (world.jobs.calls, world.open.calls, world.bus.calls) == ([], [], [])
    assert world.telemetry.counted("webhooks_rejected", source=SOURCE, code=error.code) == 1


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b'{"a":1,"a":2}', b'{"a":NaN}', b"\xff"])
async def test_a_signed_body_that_is_no_object_is_refused(world: World, intake: Intake, body: bytes) -> None:
    with pytest.raises(MalformedBody):
        await receive(intake, world, body)


async def test_a_body_over_the_cap_is_refused_before_its_signature(world: World, intake: Intake) -> None:
    with pytest.raises(BodyTooLarge):
        await receive(
            intake, world, b"x" * (256 * 1024 + 1), headers={"content-length": "5", "webhook-signature": "no"}
        )


@pytest.mark.parametrize(("size", "elsewhere"), [(1_000, False), (200_000, True)])
async def test_a_large_body_does_not_hold_up_the_event_loop(
    world: World, intake: Intake, size: int, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    read = Standard.read

    def noted(scheme: Standard, request: WebhookRequest, trust: Trust[Options]) -> tuple[WebhookEvent, ...]:
        threads.append(threading.get_ident())
        return read(scheme, request, trust)

    monkeypatch.setattr(Standard, "read", noted)
    await receive(intake, world, note("x" * size))
    assert (threads[0] != threading.get_ident()) is elsewhere


async def test_a_stale_request_is_refused(world: World, intake: Intake) -> None:
    request = webhook(world, note())
    world.clock.advance(301)
    with pytest.raises(StaleTimestamp):
        await intake.receive(SOURCE, request)


async def test_an_unknown_source_is_refused(world: World, intake: Intake) -> None:
    with pytest.raises(UnknownSource):
        await intake.receive("elsewhere", webhook(world, note()))


async def test_a_source_without_a_secret_is_our_own_fault(world: World, services: Services) -> None:
    with pytest.raises(SourceNotConfigured):
        await receive(build_intake(services, {}), world)
