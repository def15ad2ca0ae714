"""The contract of AlertSink, and the real one against a real receiver."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from pydantic import SecretStr

from shared.adapters.alerts import WebhookAlerts
from shared.deadletters.ports import Alert
from shared.errors import ConfigurationError, TransientError
from shared.jobs import Category
from tests.support.fakes import FakeAlertSink, FakeTelemetry
from tests.support.lossy import black_hole, refusing
from tests.support.waiting import in_time

_ALERT = Alert(
    fingerprint="summarize_document.task_failed",
    task_type="summarize_document",
    code="task_failed",
    category=Category.MANUAL_REVIEW,
    count=1,
    link="https://afterhook.example/api/dead-letters?fingerprint=summarize_document.task_failed",
)


@dataclass(slots=True)
class Receiver:
    """A webhook on loopback that answers with `status` and keeps the bodies it was sent."""

    status: int = 200
    url: str = ""
    bodies: list[dict[str, object]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.json())
        return web.Response(status=self.status, headers={"Location": self.url} if self.status == 307 else {})


@asynccontextmanager
async def _receiver(status: int = 200) -> AsyncIterator[Receiver]:
    receiver = Receiver(status)
    app = web.Application()
    app.router.add_post("/secret-path", receiver.handle)
    runner = web.AppRunner(app, handle_signals=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        receiver.url = f"http://{host}:{port}/secret-path"
        yield receiver
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _alerts(url: str | None, telemetry: FakeTelemetry | None = None) -> AsyncIterator[WebhookAlerts]:
    alerts = WebhookAlerts(None if url is None else SecretStr(url), telemetry or FakeTelemetry())
    try:
        yield alerts
    finally:
        await alerts.aclose()


async def test_the_fake_keeps_what_it_was_told() -> None:
    sink = FakeAlertSink()
    await sink.notify(_ALERT)
    assert sink.alerts == [_ALERT]


async def test_an_alert_is_posted_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    telemetry = FakeTelemetry()
    async with _receiver() as receiver, _alerts(receiver.url, telemetry) as alerts:
        await alerts.notify(_ALERT)
        await alerts.notify(_ALERT)
    assert [body["code"] for body in receiver.bodies] == ["task_failed", "task_failed"]
    lines = [json.loads(r.getMessage()) for r in caplog.records if r.name == "afterhook.alert"]
    assert lines[0] == {
        "event": "failure_kind_appeared",
        "fingerprint": "summarize_document.task_failed",
        "task": "summarize_document",
        "code": "task_failed",
        "category": "manual_review",
        "count": 1,
        "link": _ALERT.link,
    }
    assert telemetry.counted("alerts", outcome="delivered") == 2


async def test_without_a_webhook_the_log_line_is_the_alert(caplog: pytest.LogCaptureFixture) -> None:
    telemetry = FakeTelemetry()
    async with _alerts(None, telemetry) as alerts:
        await alerts.notify(_ALERT)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert telemetry.counted("alerts", outcome="logged") == 1


@pytest.mark.parametrize("status", [307, 400, 404, 429, 500])
async def test_any_answer_but_success_is_an_undelivered_alert(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = FakeTelemetry()
    async with _receiver(status) as receiver, _alerts(receiver.url, telemetry) as alerts:
        with pytest.raises(TransientError, match=str(status)) as caught:
            await alerts.notify(_ALERT)
    assert len(receiver.bodies) == 1
    assert telemetry.counted("alerts", outcome="failed") == 1
    assert "secret-path" not in str(caught.value) + caplog.text


async def test_a_receiver_that_is_away_tells_nothing_of_its_address(caplog: pytest.LogCaptureFixture) -> None:
    with refusing() as port:
        async with _alerts(f"http://127.0.0.1:{port}/secret-path") as alerts:
            with pytest.raises(TransientError) as caught:
                await alerts.notify(_ALERT)
    assert caught.value.__suppress_context__
    assert "secret-path" not in str(caught.value) + caplog.text


async def test_a_receiver_that_never_answers_is_given_up_within_the_bound() -> None:
    async with black_hole() as port, _alerts(f"http://127.0.0.1:{port}/secret-path") as alerts:
        results = await in_time(
            8, lambda: asyncio.gather(*(alerts.notify(_ALERT) for _ in range(3)), return_exceptions=True)
        )
    assert {type(result) for result in results} == {TransientError}


def test_a_webhook_that_is_not_https_is_a_wrong_setting() -> None:
    with pytest.raises(ConfigurationError, match="ALERT_WEBHOOK_URL") as caught:
        WebhookAlerts(SecretStr("http://example.com/secret-path"), FakeTelemetry())
    assert "secret-path" not in str(caught.value)
