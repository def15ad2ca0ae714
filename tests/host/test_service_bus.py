"""Queue functions on a real host and a real broker: messages, their data, and their end."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.broker import BrokerProcess, running_broker
from tests.host.harness import HostProcess
from tests.host.queue_apps import DEAD, GOT, HEAD, queue_app, work_app

pytestmark = [pytest.mark.host, pytest.mark.broker]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path / "broker") as running:
        yield running


def test_a_message_is_completed_when_the_function_returns(tmp_path: Path, broker: BrokerProcess) -> None:
    with HostProcess(queue_app(tmp_path, broker, work_app(GOT))) as host:
        broker.send(b"hello")
        host.wait_for_log('GOT {"body": "hello", "count": 1}')
        broker.wait_for_count(0)


def test_a_failing_message_is_redelivered_and_then_handed_to_the_dead_letter_function(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    source = work_app(GOT + '; raise ValueError("planned")') + DEAD
    with HostProcess(queue_app(tmp_path, broker, source)) as host:
        broker.send(b"poison")
        log = host.wait_for_log("DEAD {")
        assert re.findall(r'GOT .*"count": (\d)', log) == ["1", "2", "3", "4", "5"]
        assert len(re.findall(r'event=failed function=work .* error=ValueError text="planned"', log)) == 5
        assert log.count("Traceback") == 1
        seen = json.loads(log.partition("DEAD ")[2].splitlines()[0])
        assert seen["reason"] is None
        assert seen["properties"]["DeadLetterReason"] == "MaxDeliveryCountExceeded"
        broker.wait_for_count(0)
        broker.wait_for_count(0, "deadletter")


def test_a_sync_function_works_the_same(tmp_path: Path, broker: BrokerProcess) -> None:
    source = work_app(GOT).replace("async def", "def")
    with HostProcess(queue_app(tmp_path, broker, source)) as host:
        broker.send(b"hello")
        host.wait_for_log('GOT {"body": "hello"')
        broker.wait_for_count(0)


def test_the_metadata_is_what_the_host_gives_and_no_more(tmp_path: Path, broker: BrokerProcess) -> None:
    body = """say("SEEN", metadata=msg.metadata, id=msg.message_id, subject=msg.subject, label=msg.label,
        correlation=msg.correlation_id, content=msg.content_type, properties=msg.application_properties,
        naive=msg.enqueued_time_utc.tzinfo is None, reason=msg.dead_letter_reason, locked=msg.locked_until,
        ttl=msg.time_to_live, sequence=msg.sequence_number)"""
    with HostProcess(queue_app(tmp_path, broker, work_app(body))) as host:
        broker.send(
            b"x",
            message_id="m-1",
            subject="s",
            correlation_id="c",
            content_type="application/json",
            application_properties={"number": 7, "text": "é", "flag": True},
        )
        log = host.wait_for_log("SEEN ")
    seen = json.loads(log.partition("SEEN ")[2].splitlines()[0])
    metadata = seen.pop("metadata")
    assert set(metadata) == {
        "DeliveryCount",
        "LockToken",
        "ExpiresAtUtc",
        "ExpiresAt",
        "EnqueuedTimeUtc",
        "EnqueuedTime",
        "MessageId",
        "ContentType",
        "SequenceNumber",
        "Subject",
        "Label",
        "CorrelationId",
        "ApplicationProperties",
        "UserProperties",
    }
    assert not metadata["EnqueuedTimeUtc"].endswith("Z")
    assert metadata["EnqueuedTime"].endswith("+00:00")
    assert seen == {
        "id": "m-1",
        "subject": "s",
        "label": "s",
        "correlation": "c",
        "content": "application/json",
        "properties": {"number": 7, "text": "é", "flag": True},
        "naive": True,
        "reason": None,
        "locked": None,
        "ttl": None,
        "sequence": metadata["SequenceNumber"],
    }


def test_binary_data_keeps_every_byte_and_text_does_not(tmp_path: Path, broker: BrokerProcess) -> None:
    binary = work_app('say("GOT", hex=msg.get_body().hex())').replace(
        'connection="Bus")', 'connection="Bus", data_type="BINARY")'
    )
    with HostProcess(queue_app(tmp_path, broker, binary)) as host:
        broker.send(b"\xff\x00")
        host.wait_for_log('"hex": "ff00"')
    with HostProcess(queue_app(tmp_path, broker, work_app('say("GOT", hex=msg.get_body().hex())'))) as host:
        broker.send(b"\xff\x00")
        host.wait_for_log('"hex": "efbfbd00"')


def test_a_parameter_of_type_bytes_or_str_gets_the_body_itself(tmp_path: Path, broker: BrokerProcess) -> None:
    source = (
        HEAD
        + """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="work", connection="Bus")
async def work(msg: str) -> None:
    say("GOT", body=msg, kind=type(msg).__name__)
"""
    )
    with HostProcess(queue_app(tmp_path, broker, source)) as host:
        broker.send(b"hello")
        host.wait_for_log('GOT {"body": "hello", "kind": "str"}')


def test_an_empty_body_arrives_empty(tmp_path: Path, broker: BrokerProcess) -> None:
    with HostProcess(queue_app(tmp_path, broker, work_app('say("GOT", body=msg.get_body())'))) as host:
        broker.send(b"")
        host.wait_for_log('GOT {"body": "b\'\'"}')


def test_the_trace_of_the_message_continues(tmp_path: Path, broker: BrokerProcess) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    with HostProcess(
        queue_app(tmp_path, broker, work_app('say("GOT", t=context.trace_context.trace_parent)'))
    ) as host:
        broker.send(b"x", application_properties={"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
        host.wait_for_log(f'GOT {{"t": "00-{trace}-')


def test_a_value_returned_without_a_return_binding_fails_the_message_after_the_work(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    with HostProcess(queue_app(tmp_path, broker, work_app(GOT + "; return 1"))) as host:
        broker.send(b"x")
        broker.wait_for_count(1, "deadletter")
        host.wait_for_log("without a $return bindingreturned a non-None value", times=5)
        assert host.log().count("GOT {") == 5
