"""A sender of webhooks that keeps its connection and repeats each event until it is accepted."""

import hashlib
import hmac
import http.client
import json
import threading
import time
from urllib.parse import urlsplit

from tests.flows.driver import Flow, event_id


class Sender:
    """Delivers events over one connection, each until it is accepted."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._connection: http.client.HTTPConnection | None = None

    def deliver(self, text: str, over: threading.Event) -> str | None:
        """The job's id; None if it is over first."""
        payload = {"action": "one", "client_payload": {"text": text}, "sender": {"id": 204}}
        body, secret = json.dumps(payload).encode(), self._flow.stack.secrets["github"].encode()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "repository_dispatch",
            "X-GitHub-Delivery": event_id(),
            "X-Hub-Signature-256": "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(),
        }
        while not over.is_set():
            status, content = self._post(body, headers)
            if status in (200, 202):
                return str(json.loads(content)["job_id"])
            assert status in (0, 503), (status, content[:200])
            time.sleep(0.2)
        return None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _post(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        if self._connection is None:
            netloc = urlsplit(self._flow.stack.url).netloc
            self._connection = http.client.HTTPConnection(netloc, timeout=40)
        try:
            self._connection.request("POST", "/api/webhooks/github", body, headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            return 0, b""
