"""Queue functions as their decorators and host.json make them: what is honoured, and what is refused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.broker import BrokerProcess, running_broker
from tests.host.harness import HostProcess, start_fails, write_app
from tests.host.queue_apps import GOT, queue_app, service_bus, work_app

pytestmark = [pytest.mark.host, pytest.mark.broker]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path / "broker", max_delivery_count=2) as running:
        yield running


def _dead(name: str, body: str) -> str:
    return f"""
@app.service_bus_queue_trigger(arg_name="msg", queue_name="{name}", connection="Bus")
async def dead(msg: func.ServiceBusMessage) -> None:
    {body}
"""


@pytest.mark.parametrize("suffix", ["$DeadLetterQueue", "$DEADLETTERQUEUE"])
def test_deliveries_of_a_dead_letter_never_end_and_go_on_counting(
    tmp_path: Path, broker: BrokerProcess, suffix: str
) -> None:
    body = """say("DEAD", count=msg.delivery_count, reason=msg.dead_letter_reason,
        told=msg.application_properties.get("DeadLetterReason"))
    if msg.delivery_count < 9:
        raise ValueError("planned")"""
    source = work_app('raise ValueError("planned")') + _dead(f"%QUEUE%/{suffix}", body)
    with HostProcess(queue_app(tmp_path, broker, source)) as host:
        broker.send(b"poison")
        broker.wait_for_count(0)
        log = host.wait_for_log("event=executed function=dead")
        broker.wait_for_count(0, "deadletter")
    seen = [json.loads(line) for line in re.findall(r"DEAD (\{.*\})", log)]
    assert [each["count"] for each in seen] == list(range(3, 10))
    assert {each["reason"] for each in seen} == {None}
    assert {each["told"] for each in seen} == {"MaxDeliveryCountExceeded"}


def test_max_concurrent_calls_governs_the_dead_letter_function_too(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    body = """global running, most
    running += 1
    most = max(most, running)
    say("RUNNING", now=running)
    while most < 2:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    running -= 1"""
    source = (
        "running = most = 0\n"
        + work_app('raise ValueError("planned")')
        + _dead("%QUEUE%/$deadletterqueue", body)
    )
    app = queue_app(tmp_path, broker, source, extensions=service_bus(maxConcurrentCalls=2))
    with HostProcess(app) as host:
        broker.send(*[b"x"] * 6)
        host.wait_for_log("event=executed function=dead", times=6)
        seen = [int(n) for n in re.findall(r'RUNNING {"now": (\d+)}', host.log())]
    assert max(seen) == 2


@pytest.mark.parametrize(("of_the_app", "of_the_trigger"), [(True, False), (False, True)])
def test_a_trigger_s_auto_complete_wins_over_that_of_host_json(
    tmp_path: Path, broker: BrokerProcess, *, of_the_app: bool, of_the_trigger: bool
) -> None:
    source = work_app(GOT).replace('"Bus")', f'"Bus", auto_complete_messages={of_the_trigger})')
    app = queue_app(tmp_path, broker, source, extensions=service_bus(autoCompleteMessages=of_the_app))
    with HostProcess(app) as host:
        broker.send(b"x")
        host.wait_for_log("event=executed function=work")
        if of_the_trigger:
            broker.wait_for_count(0)
        else:
            broker.end_locks()
            host.wait_for_log('"count": 2')


def test_without_auto_complete_a_failing_message_is_abandoned_all_the_same(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    source = work_app(GOT + '; raise ValueError("planned")')
    app = queue_app(tmp_path, broker, source, extensions=service_bus(autoCompleteMessages=False))
    with HostProcess(app):
        broker.send(b"x")
        broker.wait_for_count(1, "deadletter", seconds=50)  # no lock of a minute runs out in that time


def test_a_retry_policy_on_a_queue_is_ignored_with_a_warning(tmp_path: Path, broker: BrokerProcess) -> None:
    source = work_app(GOT + '; raise ValueError("planned")').replace(
        "async def work",
        '@app.retry(strategy="fixed_delay", max_retry_count="5", delay_interval="00:00:00")\nasync def work',
    )
    with HostProcess(queue_app(tmp_path, broker, source)) as host:
        broker.send(b"x")
        broker.wait_for_count(1, "deadletter")
        assert host.terminate() == 0
        assert "event=retry_policy_ignored function=work trigger=serviceBusTrigger" in host.log()
        assert re.findall(r'"count": (\d)', host.log()) == ["1", "2"]


@pytest.mark.parametrize(
    ("decorator", "sentence"),
    [
        (
            'service_bus_topic_trigger(arg_name="msg",topic_name="n", subscription_name="s", connection="B")',
            "Service Bus topics are not supported by this host; it has queues",
        ),
        (
            'service_bus_queue_trigger(arg_name="msg", queue_name="q", connection="Bus", cardinality="many")',
            "cardinality 'many' is not supported by this host; take one message at a time",
        ),
        (
            'service_bus_queue_trigger(arg_name="msg", queue_name="q", connection="Identity")',
            "connection 'Identity' uses an identity (Identity__fullyQualifiedNamespace)",
        ),
        (
            'service_bus_queue_trigger(arg_name="msg", queue_name="q", connection="Other")',
            "connection 'Other': the connection string is for the entity 'elsewhere', not for the queue 'q'",
        ),
    ],
)
def test_what_this_host_cannot_do_is_said_at_the_start(tmp_path: Path, decorator: str, sentence: str) -> None:
    kind = "typing.List[func.ServiceBusMessage]" if "many" in decorator else "func.ServiceBusMessage"
    source = f"""
import typing

@app.{decorator}
def work(msg: {kind}) -> None: ...
"""
    plain = "Endpoint=sb://127.0.0.1;SharedAccessKeyName=a;SharedAccessKey=secret-marker"
    values = {
        "Bus": plain,
        "Identity__fullyQualifiedNamespace": "x.servicebus.windows.net",
        "Other": f"{plain};EntityPath=elsewhere",
    }
    log = start_fails(write_app(tmp_path, source, values=values))
    assert "cannot load the work function" in log
    assert sentence in log
    assert "secret-marker" not in log


def test_a_plain_connection_wins_over_an_identity_of_the_same_name(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    app = queue_app(tmp_path, broker, work_app(GOT))
    environment = {"Bus__fullyQualifiedNamespace": "x.servicebus.windows.net"}
    with HostProcess(app, environment=environment) as host:
        broker.send(b"here")
        host.wait_for_log('GOT {"body": "here"')


def test_a_message_that_meets_a_stopping_host_costs_a_delivery_at_most(
    tmp_path: Path, broker: BrokerProcess
) -> None:
    source = work_app(GOT + "; await asyncio.sleep(1.5)")
    app = queue_app(tmp_path, broker, source, extensions=service_bus(maxConcurrentCalls=4))
    with HostProcess(app) as host:
        broker.send(b"first")
        host.wait_for_log('GOT {"body": "first"')
        host.process.terminate()
        host.wait_refusing()
        broker.send(b"late")
        assert host.wait() == 0
        assert "late" not in host.log()
    (left,) = broker.peek()
    assert b"".join(left.body) == b"late"
    assert (left.delivery_count or 0) <= 1
