"""The application under the worker library with real storage and a real queue; the test plays the host."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from azure.functions.meta import Datum
from azure.servicebus import ServiceBusClient, ServiceBusReceivedMessage
from standardwebhooks.webhooks import Webhook

from devhost.functions.service_bus_message import body_of, metadata_of
from tests.host.broker import QUEUE, running_broker
from tests.support.worker_index.bindings import HTTP_FUNCTIONS
from tests.support.worker_index.inputs import http
from tests.support.worker_index.worker import Invocation, Worker, deploy

_SECRET = "whsec_" + "QUFB" * 10


class Running:
    """Calls functions as the host does; the queue is emptied by hand, a message at a time."""

    def __init__(self, worker: Worker, bus: str) -> None:
        self.worker = worker
        self._bus = bus

    def call(self, name: str, document: Any = None, **params: str) -> Invocation:
        """An HTTP function's answer."""
        method, route, _ = HTTP_FUNCTIONS[name]
        body = b"" if document is None else json.dumps(document).encode()
        return self._answer(name, http(method, route, params, body))

    def deliver(self, event_id: str, kind: str, data: Mapping[str, str]) -> Invocation:
        """The answer to a webhook that the Standard Webhooks library signed."""
        body, now = json.dumps({"type": kind, "data": data}), datetime.now(UTC)
        headers = {
            "webhook-id": event_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(_SECRET).sign(event_id, now, body),
        }
        method, route, _ = HTTP_FUNCTIONS["webhook"]
        return self._answer("webhook", http(method, route, {"source": "events"}, body.encode(), headers))

    def take(self) -> ServiceBusReceivedMessage:
        """The only message in the queue, taken off it."""
        with (
            ServiceBusClient.from_connection_string(self._bus) as client,
            client.get_queue_receiver(QUEUE) as receiver,
        ):
            (message,) = receiver.receive_messages(max_message_count=1, max_wait_time=20)
            receiver.complete_message(message)
            return message

    def hand_over(self, name: str, message: ServiceBusReceivedMessage) -> Invocation:
        """Invoke a queue function with a message."""
        return self.worker.invoke(name, body_of(message, binary=True), metadata_of(message))

    def _answer(self, name: str, request: Datum) -> Invocation:
        answer = self.worker.invoke(name, request)
        assert answer.state == "returned", answer.error
        return answer


@contextmanager
def running_app(python: Path, folder: Path, storage: str) -> Iterator[Running]:
    """The app as deployed, under `python`, on this storage and a queue of its own."""
    with running_broker(folder / "broker") as broker:
        settings = {
            "AzureWebJobsStorage": storage,
            "ServiceBusConnection": broker.connection_string,
            "JOBS_QUEUE": QUEUE,
            "GITHUB_WEBHOOK_SECRET": "an invented secret of the tests",
            "EVENTS_WEBHOOK_SECRET": _SECRET,
        }
        with Worker(python, deploy(folder / "app"), settings) as worker:
            yield Running(worker, broker.connection_string)
