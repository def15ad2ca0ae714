"""Marked words are planted in everything private; they may be found in protected storage and nowhere else."""

from collections.abc import Iterator

import pytest
from azure.data.tables import TableServiceClient
from azure.servicebus import ServiceBusClient

from devhost.outside.receiver import Receiver
from devhost.stack import Part
from shared.failpoints import Point
from tests.flows.driver import (
    PATIENCE_SECONDS,
    Flow,
    assert_one_open_case,
    assert_succeeded_once,
    event_id,
    running_flow,
)

pytestmark = pytest.mark.flows

MARK = "quokkamarmalade"
DOCUMENT = f"The {MARK} lives near the old pier. It eats {MARK} every day. Nobody knows the {MARK} well."


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as listening:
        yield listening


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[Flow]:
    settings = {"ALERT_WEBHOOK_URL": receiver.url}
    with running_flow(tmp_path_factory.mktemp("privacy"), settings, patient=True) as running:
        yield running


def test_nothing_private_is_in_logs_messages_alerts_cases_or_errors(flow: Flow, receiver: Receiver) -> None:
    done = flow.deliver_until_accepted(event_id(), {"text": DOCUMENT})
    assert_succeeded_once(flow, done)
    assert MARK in flow.get(f"jobs/{done}/result").document["summary"]
    broken = flow.put_document("broken.pdf", b"%PDF-1.7 " + DOCUMENT.encode())
    dead = flow.deliver_until_accepted(event_id(), {"document": broken, "note": MARK}, action="document")
    assert_one_open_case(flow, dead, "document_unreadable")
    flow.send_raw(f'{{"not": "ours {MARK}"}}'.encode())
    flow.wait_until(
        lambda: bool(flow.get("dead-letters?category=unreadable").document["cases"]), "the unreadable case"
    )
    flow.deliver(event_id(), {"text": MARK}, action=f"unwanted-{MARK}")
    alert = receiver.next(timeout=PATIENCE_SECONDS)
    assert alert is not None
    logs = b"".join(flow.stack.log(part).read_bytes() for part in (Part.HOST, Part.BROKER))
    places = {
        "logs": logs,
        "alert": alert.encode(),
        "job": repr(flow.get(f"jobs/{dead}").document).encode(),
        "cases": repr(flow.get("dead-letters").document).encode(),
        "lists": _rows(flow, ("open", "cases", "groups", "reviews")),
        "messages": _messages(flow),
    }
    assert [place for place, content in places.items() if MARK.encode() in content] == []
    secret = flow.stack.secrets["github"].encode()
    assert [place for place, content in places.items() if secret in content] == []


def _rows(flow: Flow, tables: tuple[str, ...]) -> bytes:
    with TableServiceClient.from_connection_string(flow.stack.storage) as service:
        return repr([list(service.get_table_client(table).list_entities()) for table in tables]).encode()


def _messages(flow: Flow) -> bytes:
    """What travels: the message of a job whose worker is held, peeked at while it is locked."""
    flow.failpoints.hold(Point.WORKER_BEFORE_RESULT_BLOB)
    job_id = flow.deliver_until_accepted(event_id(), {"text": DOCUMENT})
    flow.failpoints.wait_held(Point.WORKER_BEFORE_RESULT_BLOB)
    with (
        ServiceBusClient.from_connection_string(flow.stack.servicebus) as client,
        client.get_queue_receiver("ai-jobs") as receiver,
    ):
        messages = receiver.peek_messages(50)
        found = repr(
            [(str(message), message.application_properties, message.message_id) for message in messages]
        )
    flow.failpoints.release(Point.WORKER_BEFORE_RESULT_BLOB)
    assert job_id in found
    return found.encode()
