"""Service Bus functions on a real host, fed by the real local broker through the unmodified SDK."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.host.broker import QUEUE, BrokerProcess, running_broker
from tests.host.harness import HostProcess, start_fails, write_app

pytestmark = [pytest.mark.host, pytest.mark.broker]

HEAD = """
import asyncio, datetime, json, sys, time

def say(word, **more):
    sys.stderr.write(f"{word} {json.dumps(more, default=repr)}\\n")
"""
WORK = (
    HEAD
    + """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="%QUEUE%", connection="Bus")
async def work(msg: func.ServiceBusMessage, context: func.Context) -> None:
    BODY
"""
)
DEAD = """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="%QUEUE%/$deadletterqueue", connection="Bus")
async def dead(msg: func.ServiceBusMessage) -> None:
    say("DEAD", body=msg.get_body(), reason=msg.dead_letter_reason, properties=msg.application_properties,
        count=msg.delivery_count)
"""
GOT = 'say("GOT", body=msg.get_body().decode(), count=msg.delivery_count)'


def _app(folder: Path, broker: BrokerProcess, source: str, **host_json: Any) -> Path:
    values = {"Bus": broker.connection_string, "QUEUE": QUEUE}
    return write_app(folder / "app", source, host_json=host_json, values=values)


def _work(body: str) -> str:
    return WORK.replace("BODY", body)


def _service_bus(**options: Any) -> dict[str, Any]:
    return {"serviceBus": options}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path / "broker") as running:
        yield running


@pytest.fixture
def short_locks(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path / "broker", lock_duration="PT2S") as running:
        yield running


def test_a_message_is_completed_when_the_function_returns(tmp_path: Path, broker: BrokerProcess) -> None:
    with HostProcess(_app(tmp_path, broker, _work(GOT))) as host:
        broker.send(b"hello")
        host.wait_for_log('GOT {"body": "hello", "count": 1}')
        broker.wait_for_count(0)


def test_a_failing_message_is_redelivered_and_then_handed_to_the_dead_letter_function(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    source = _work(GOT + '; raise ValueError("planned")') + DEAD
    with HostProcess(_app(tmp_path, broker, source)) as host:
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
    source = _work(GOT).replace("async def", "def")
    with HostProcess(_app(tmp_path, broker, source)) as host:
        broker.send(b"hello")
        host.wait_for_log('GOT {"body": "hello"')
        broker.wait_for_count(0)


def test_the_metadata_is_what_the_host_gives_and_no_more(tmp_path: Path, broker: BrokerProcess) -> None:
    body = """say("SEEN", metadata=msg.metadata, id=msg.message_id, subject=msg.subject, label=msg.label,
        correlation=msg.correlation_id, content=msg.content_type, properties=msg.application_properties,
        naive=msg.enqueued_time_utc.tzinfo is None, reason=msg.dead_letter_reason, locked=msg.locked_until,
        ttl=msg.time_to_live, sequence=msg.sequence_number)"""
    with HostProcess(_app(tmp_path, broker, _work(body))) as host:
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
    binary = _work('say("GOT", hex=msg.get_body().hex())').replace(
        'connection="Bus")', 'connection="Bus", data_type="BINARY")'
    )
    with HostProcess(_app(tmp_path, broker, binary)) as host:
        broker.send(b"\xff\x00")
        host.wait_for_log('"hex": "ff00"')
    with HostProcess(_app(tmp_path, broker, _work('say("GOT", hex=msg.get_body().hex())'))) as host:
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
    with HostProcess(_app(tmp_path, broker, source)) as host:
        broker.send(b"hello")
        host.wait_for_log('GOT {"body": "hello", "kind": "str"}')


def test_an_empty_body_arrives_empty(tmp_path: Path, broker: BrokerProcess) -> None:
    with HostProcess(_app(tmp_path, broker, _work('say("GOT", body=msg.get_body())'))) as host:
        broker.send(b"")
        host.wait_for_log('GOT {"body": "b\'\'"}')


def test_the_trace_of_the_message_continues(tmp_path: Path, broker: BrokerProcess) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    with HostProcess(
        _app(tmp_path, broker, _work('say("GOT", t=context.trace_context.trace_parent)'))
    ) as host:
        broker.send(b"x", application_properties={"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
        host.wait_for_log(f'GOT {{"t": "00-{trace}-')


def test_a_value_returned_without_a_return_binding_fails_the_message_after_the_work(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    with HostProcess(_app(tmp_path, broker, _work(GOT + "; return 1"))) as host:
        broker.send(b"x")
        broker.wait_for_count(1, "deadletter")
        assert host.log().count("GOT {") == 5
        assert "without a $return binding returned a non-None value" in host.log()


def test_no_more_than_max_concurrent_calls_run_at_once(tmp_path: Path, broker: BrokerProcess) -> None:
    source = (
        _work("await slow(msg)")
        + """
running = 0

async def slow(msg):
    global running
    running += 1
    say("RUNNING", now=running)
    await asyncio.sleep(0.4)
    running -= 1
"""
    )
    app = _app(tmp_path, broker, source, extensions=_service_bus(maxConcurrentCalls=3))
    with HostProcess(app) as host:
        broker.send(*[b"x"] * 12)
        broker.wait_for_count(0)
        seen = [int(n) for n in re.findall(r'RUNNING {"now": (\d+)}', host.log())]
    assert len(seen) == 12
    assert max(seen) == 3


def test_a_lock_is_renewed_while_the_function_runs(tmp_path: Path, short_locks: BrokerProcess) -> None:
    source = _work(GOT + '; await asyncio.sleep(6); say("DONE")')
    with HostProcess(_app(tmp_path, short_locks, source)) as host:
        short_locks.send(b"long")
        host.wait_for_log("DONE")
        short_locks.wait_for_count(0)
        assert host.log().count("GOT {") == 1


def test_a_lock_is_renewed_no_longer_than_host_json_says(tmp_path: Path, short_locks: BrokerProcess) -> None:
    source = _work(GOT + "; await asyncio.sleep(6 if msg.delivery_count == 1 else 0)")
    app = _app(tmp_path, short_locks, source, extensions=_service_bus(maxAutoLockRenewalDuration="00:00:01"))
    with HostProcess(app) as host:
        short_locks.send(b"long")
        host.wait_for_log('"count": 2')
        host.wait_for_log("event=executed function=work", times=2)
        host.wait_for_log("event=complete_failed")
        assert "error=MessageLockLostError" in host.log()


def test_without_auto_complete_a_message_that_ran_comes_back(
    tmp_path: Path, short_locks: BrokerProcess
) -> None:
    app = _app(tmp_path, short_locks, _work(GOT), extensions=_service_bus(autoCompleteMessages=False))
    with HostProcess(app) as host:
        short_locks.send(b"x")
        host.wait_for_log('"count": 2')
        assert len(short_locks.peek()) == 1


def test_a_broker_that_is_away_at_start_stops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "broker"
    folder.mkdir()
    broker = BrokerProcess(folder)
    source = (
        _work(GOT)
        + """
@app.route(route="ok")
def ok(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("ok")
"""
    )
    with HostProcess(_app(tmp_path, broker, source)) as host:
        assert host.request("GET", "/api/ok").body == b"ok"
        host.wait_for_log("event=queue_away function=work")
        try:
            broker.start()
            broker.send(b"late")
            host.wait_for_log('GOT {"body": "late"')
            assert host.log().count("event=queue_away") == 1
        finally:
            broker.kill()


def test_a_broker_killed_and_back_is_found_again_and_no_capacity_is_lost(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    source = _work(GOT + "; await asyncio.sleep(0.3)")
    app = _app(tmp_path, broker, source, extensions=_service_bus(maxConcurrentCalls=2))
    with HostProcess(app) as host:
        for round_number in range(3):
            broker.send(*[f"{round_number}-{i}".encode() for i in range(4)])
            host.wait_for_log(f'GOT {{"body": "{round_number}-3"')
            broker.wait_for_count(0)
            broker.kill()
            host.wait_for_log("event=queue_away", times=round_number + 1)
            broker.start()
        broker.send(*[b"last"] * 6)
        host.wait_for_log('GOT {"body": "last"', times=6)
        broker.wait_for_count(0)


def test_a_message_in_hand_while_the_broker_restarts_is_completed(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    with HostProcess(_app(tmp_path, broker, _work(GOT + '; await asyncio.sleep(3); say("DONE")'))) as host:
        broker.send(b"kept")
        host.wait_for_log("GOT {")
        broker.kill()
        broker.start()
        host.wait_for_log("DONE")
        broker.wait_for_count(0)
        assert host.log().count("GOT {") == 1


def test_a_message_whose_function_ends_while_the_broker_is_away_is_completed_later(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    with HostProcess(_app(tmp_path, broker, _work(GOT + '; await asyncio.sleep(1); say("DONE")'))) as host:
        broker.send(b"kept")
        host.wait_for_log("GOT {")
        broker.kill()
        host.wait_for_log("DONE")
        host.wait_for_log("event=queue_away")
        time.sleep(1)
        broker.start()
        broker.wait_for_count(0)
        assert host.log().count("GOT {") == 1


def test_sigterm_lets_the_message_in_hand_finish_and_leaves_the_rest(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    source = _work(GOT + '; await asyncio.sleep(2); say("DONE")')
    app = _app(tmp_path, broker, source, extensions=_service_bus(maxConcurrentCalls=1))
    with HostProcess(app) as host:
        broker.send(b"first", b"second")
        host.wait_for_log('GOT {"body": "first"')
        assert host.terminate() == 0
        assert host.log().count("DONE") == 1
    assert [b"".join(m.body) for m in broker.peek()] == [b"second"]


def test_a_host_killed_at_work_leaves_its_message_to_the_next(
    tmp_path: Path, short_locks: BrokerProcess
) -> None:
    app = _app(tmp_path, short_locks, _work(GOT + "; await asyncio.sleep(1)"))
    with HostProcess(app) as host:
        short_locks.send(b"kept")
        host.wait_for_log("GOT {")
        host.process.kill()
        host.wait()
    with HostProcess(app) as host:
        host.wait_for_log('GOT {"body": "kept", "count": 2}')
        short_locks.wait_for_count(0)


@pytest.mark.parametrize(
    ("trigger", "sentence"),
    [
        ('queue_name="work", connection="NoSuch"', "connection 'NoSuch': neither app setting 'NoSuch' nor"),
        ('queue_name="%MISSING%", connection="Bus"', "'%MISSING%' does not resolve to a value"),
        ('queue_name="work", connection="Bus", is_sessions_enabled=True', "sessions are not supported"),
        ('queue_name="work", connection="Broken"', "connection 'Broken':"),
    ],
)
def test_a_queue_binding_that_cannot_work_does_not_start(tmp_path: Path, trigger: str, sentence: str) -> None:
    source = f"""
@app.service_bus_queue_trigger(arg_name="msg", {trigger})
async def work(msg: func.ServiceBusMessage) -> None: ...
"""
    values = {"Bus": "Endpoint=sb://x;SharedAccessKeyName=a;SharedAccessKey=b", "Broken": "nonsense"}
    log = start_fails(write_app(tmp_path, source, values=values))
    assert "cannot load the work function" in log
    assert sentence in log


def test_a_queue_function_without_an_extension_bundle_does_not_start(tmp_path: Path) -> None:
    source = """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="work", connection="Bus")
async def work(msg: func.ServiceBusMessage) -> None: ...
"""
    app = write_app(tmp_path, source, host_json={"extensionBundle": None}, values={"Bus": "x"})
    assert "'serviceBusTrigger' are not registered: host.json names no extensionBundle" in start_fails(app)


def test_a_queue_function_over_its_timeout_dies_and_its_message_comes_back(
    tmp_path: Path, short_locks: BrokerProcess
) -> None:
    source = _work(GOT + "; await asyncio.sleep(60 if msg.delivery_count == 1 else 0)")
    app = _app(tmp_path, short_locks, source, functionTimeout="00:00:02")
    with HostProcess(app) as host:
        short_locks.send(b"stuck")
        assert host.wait(30) == 70
    with HostProcess(app) as host:
        host.wait_for_log('GOT {"body": "stuck", "count": 2}')
        short_locks.wait_for_count(0)
