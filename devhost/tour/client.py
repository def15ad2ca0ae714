"""Speaks to the running app over HTTP, as a webhook sender and as an operator would."""

import hashlib
import hmac
import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_TIMEOUT_SECONDS = 30


class TourError(RuntimeError):
    """The tour did not see what it should have seen; the text says what."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer: its code, its JSON (None when it is none) and the milliseconds it took."""

    code: int
    document: Any
    milliseconds: float

    def field(self, name: str) -> Any:
        """One field of the JSON object; `TourError` when it is not there."""
        if not isinstance(self.document, dict) or name not in self.document:
            raise TourError(f"expected {name!r} in the answer, which was {self.code} {self.document!r}")
        return self.document[name]


@dataclass(frozen=True, slots=True)
class Client:
    """The app at `url`, with the operator's key."""

    url: str
    operator_key: str

    def get(self, path: str) -> Answer:
        """GET with the key."""
        return self._send("GET", path, b"", {"x-functions-key": self.operator_key})

    def post(self, path: str, document: object) -> Answer:
        """POST JSON with the key."""
        headers = {"x-functions-key": self.operator_key, "Content-Type": "application/json"}
        return self._send("POST", path, json.dumps(document).encode(), headers)

    def deliver(self, source: str, event: str, delivery: str, body: bytes, secret: str) -> Answer:
        """A webhook as GitHub sends it: https://docs.github.com/webhooks/webhook-events-and-payloads."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/tour",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery,
            "X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest(),
        }
        return self._send("POST", f"/api/webhooks/{source}", body, headers)

    def _send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.netloc, timeout=_TIMEOUT_SECONDS)
        begun = time.monotonic()
        try:
            connection.request(method, path, body or None, dict(headers))
            response = connection.getresponse()
            content = response.read()
        except OSError as fault:
            raise TourError(f"{method} {path}: no answer ({fault})") from fault
        finally:
            connection.close()
        return Answer(response.status, _json(content), (time.monotonic() - begun) * 1000)


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
