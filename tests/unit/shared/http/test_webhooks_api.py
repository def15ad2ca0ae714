"""`POST /webhooks/{source}`: the answers a sender gets."""

import json
from dataclasses import replace
from typing import Any

import pytest

from shared.application import Application
from shared.http.exchange import HttpAnswer, HttpRequest, answered
from shared.services import Services
from shared.webhooks.large_bodies import LARGE_BODY
from shared.webhooks.standard import Standard
from tests.support.application import SECRETS, SOURCE, build_intake, note, webhook
from tests.support.fakes import World


async def post(
    services: Services,
    world: World,
    document: Any,
    *,
    source: str = SOURCE,
    environ: dict[str, str] | None = None,
    **request: Any,
) -> HttpAnswer:
    sent = webhook(world, document, **request)
    application = Application(services, build_intake(services, SECRETS if environ is None else environ))
    http = HttpRequest(
        method="POST", url=sent.url, headers=sent.headers, params={"source": source}, body=sent.body
    )
    return await answered(lambda: application.receive_webhook(http))


async def test_a_new_event_is_202_and_a_known_one_200(services: Services, world: World) -> None:
    first = await post(services, world, note())
    second = await post(services, world, note())
    job_id = world.jobs.all_jobs()[0].job_id
    assert (first.status, json.loads(first.body)) == (
        202,
        {"status": "accepted", "job_id": job_id, "duplicate": False},
    )
    assert (second.status, json.loads(second.body)["duplicate"]) == (200, True)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
async def test_another_method_is_not_allowed(services: Services, method: str) -> None:
    application = Application(services, build_intake(services))
    request = HttpRequest(method=method, url="http://localhost/api", headers={}, params={"source": SOURCE})
    answer = await answered(lambda: application.receive_webhook(request))
    assert (answer.status, answer.headers["Allow"]) == (405, "POST")
    assert json.loads(answer.body)["code"] == "method_not_allowed"


async def test_an_unwanted_event_is_200_ignored(services: Services, world: World) -> None:
    answer = await post(services, world, {"type": "ping"})
    assert (answer.status, json.loads(answer.body)) == (200, {"status": "ignored"})


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"source": "MARKED"}, 404, "unknown_source"),
        ({"headers": {"webhook-signature": "v1,MARKED"}}, 401, "bad_signature"),
        ({"headers": {"webhook-signature": "v1,\u00e9\ud800"}}, 401, "bad_signature"),
        ({"headers": {"content-length": ""}}, 411, "length_required"),
        ({"headers": {"content-length": "99999999"}}, 413, "body_too_large"),
        ({"headers": {"content-type": "text/MARKED"}}, 415, "unsupported_media_type"),
        ({"document": b"MARKED"}, 400, "malformed_body"),
        ({"environ": {}}, 503, "source_not_configured"),
    ],
)
async def test_each_refusal_has_its_status_and_code_and_echoes_nothing(
    services: Services, world: World, changes: dict[str, Any], status: int, code: str
) -> None:
    answer = await post(services, world, **({"document": note("MARKED")} | changes))
    assert (answer.status, json.loads(answer.body)["code"]) == (status, code)
    assert answer.content_type == "application/problem+json"
    assert b"MARKED" not in answer.body
    assert ("Retry-After" in answer.headers) is (status == 503)
    assert world.jobs.all_jobs() == []


@pytest.mark.parametrize(("away", "code"), [("storage", "storage_unavailable"), ("bus", "queue_unavailable")])
async def test_our_own_outage_is_a_503_with_retry_after(
    services: Services, world: World, away: str, code: str
) -> None:
    world.storage_down(away == "storage")
    world.bus.down = away == "bus"
    answer = await post(services, world, note())
    assert (answer.status, json.loads(answer.body)["code"]) == (503, code)
    assert int(answer.headers["Retry-After"]) > 0


async def test_a_defect_of_ours_is_a_503_that_shows_nothing(
    services: Services, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.jobs.fail_next("insert", ValueError("MARKED"))
    answer = await post(services, world, note())
    assert (answer.status, json.loads(answer.body)["code"]) == (503, "internal_error")
    assert "MARKED" not in answer.body.decode() + caplog.text
    assert "ValueError" in caplog.text


@pytest.mark.parametrize("host", ["[", "[::1", "a]b", "[v1.x]", "\u2100.example"])
async def test_whatever_the_host_header_holds_the_signature_decides(
    services: Services, world: World, host: str
) -> None:
    application = Application(services, build_intake(services))
    sent = webhook(world, note())
    request = HttpRequest(
        method="POST",
        url=f"http://{host}/api/webhooks/{SOURCE}?code=x",
        headers=sent.headers,
        params={"source": SOURCE},
        body=sent.body,
    )
    assert (await answered(lambda: application.receive_webhook(request))).status == 202
    forged = replace(request, body=sent.body + b" ", headers={**sent.headers, "content-length": "9"})
    assert (await answered(lambda: application.receive_webhook(forged))).status == 401


async def test_a_large_body_that_finds_no_room_is_told_to_come_again(
    services: Services, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Standard, "answer_within", 0.0)
    answer = await post(services, world, note("x" * LARGE_BODY))
    assert (answer.status, json.loads(answer.body)["code"]) == (503, "overloaded")
    assert int(answer.headers["Retry-After"]) > 0
    assert world.jobs.all_jobs() == []
