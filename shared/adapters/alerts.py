"""Alerts: always one structured log line, and a POST to the webhook when one is configured."""

import json
import logging

import aiohttp
from pydantic import SecretStr

from shared.deadletters.alert_forms import fields, form_for, payload
from shared.deadletters.ports import Alert
from shared.errors import ConfigurationError, TransientError
from shared.ports import Telemetry

logger = logging.getLogger("afterhook.alert")
_SECONDS = 5.0
_OK = range(200, 300)


class WebhookAlerts:
    """AlertSink. The webhook's address is a secret: whoever has it can post, so it is in no log or error."""

    def __init__(self, url: SecretStr | None, telemetry: Telemetry) -> None:
        """Raises ConfigurationError for an address that no alert may go to."""
        self._url = url
        self._telemetry = telemetry
        self._session: aiohttp.ClientSession | None = None
        if url is not None:
            try:
                self._form = form_for(url.get_secret_value())
            except ValueError as error:
                raise ConfigurationError(f"ALERT_WEBHOOK_URL: {error}") from None

    async def notify(self, alert: Alert) -> None:
        """As the port says; without a webhook the log line is the delivery."""
        logger.warning("%s", json.dumps(dict(fields(alert)), separators=(",", ":")))
        if self._url is None:
            self._count("logged", alert)
            return
        try:
            await self._post(self._url, alert)
        except TransientError:
            self._count("failed", alert)
            raise
        self._count("delivered", alert)

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _post(self, url: SecretStr, alert: Alert) -> None:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_SECONDS))
        body = payload(alert, self._form)
        try:
            async with self._session.post(
                url.get_secret_value(), json=body, allow_redirects=False
            ) as response:
                status = response.status
        except (aiohttp.ClientError, OSError, ValueError):
            raise TransientError("The alert webhook did not answer.") from None
        if status not in _OK:
            raise TransientError(f"The alert webhook answered with status {status}.")

    def _count(self, outcome: str, alert: Alert) -> None:
        self._telemetry.count("alerts", outcome=outcome, code=alert.code, category=alert.category.value)
