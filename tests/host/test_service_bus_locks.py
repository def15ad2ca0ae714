"""Queue functions and time: locks, limits of concurrency, timeouts, and what does not start."""

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
    with running_broker(tmp_path / "broker") as running:
        yield running


@pytest.fixture
def short_locks(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path / "broker", lock_duration="PT6S") as running:
        yield running


def test_no_more_than_max_concurrent_calls_run_at_once(tmp_path: Path, broker: BrokerProcess) -> None:
    source = (
        work_app("await slow(msg)")
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
    app = queue_app(tmp_path, broker, source, extensions=service_bus(maxConcurrentCalls=3))
    with HostProcess(app) as host:
        broker.send(*[b"x"] * 12)
        broker.wait_for_count(0)
        seen = [int(n) for n in re.findall(r'RUNNING {"now": (\d+)}', host.log())]
    assert len(seen) == 12
    assert max(seen) == 3


def test_a_lock_is_renewed_while_the_function_runs(tmp_path: Path, short_locks: BrokerProcess) -> None:
    source = work_app(GOT + '; await asyncio.sleep(7.5); say("DONE")')
    with HostProcess(queue_app(tmp_path, short_locks, source)) as host:
        short_locks.send(b"long")
        host.wait_for_log("DONE")
        short_locks.wait_for_count(0)
        assert host.log().count("GOT {") == 1


def test_a_lock_is_renewed_no_longer_than_host_json_says(tmp_path: Path, short_locks: BrokerProcess) -> None:
    source = work_app(GOT + "; await asyncio.sleep(8 if msg.delivery_count == 1 else 0)")
    app = queue_app(
        tmp_path, short_locks, source, extensions=service_bus(maxAutoLockRenewalDuration="00:00:01")
    )
    with HostProcess(app) as host:
        short_locks.send(b"long")
        host.wait_for_log('"count": 2')
        host.wait_for_log("event=executed function=work", times=2)
        host.wait_for_log("event=complete_failed")
        assert "error=MessageLockLostError" in host.log()


def test_without_auto_complete_a_message_that_ran_comes_back(tmp_path: Path, broker: BrokerProcess) -> None:
    app = queue_app(tmp_path, broker, work_app(GOT), extensions=service_bus(autoCompleteMessages=False))
    with HostProcess(app) as host:
        broker.send(b"x")
        host.wait_for_log("event=executed function=work")
        broker.end_locks()
        host.wait_for_log('"count": 2')
        assert len(broker.peek()) == 1


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
    tmp_path: Path, broker: BrokerProcess
) -> None:
    source = work_app(GOT + "; await asyncio.sleep(60 if msg.delivery_count == 1 else 0)")
    app = queue_app(tmp_path, broker, source, functionTimeout="00:00:02")
    with HostProcess(app) as host:
        broker.send(b"stuck")
        assert host.wait(30) == 70
    broker.end_locks()
    with HostProcess(app) as host:
        host.wait_for_log('GOT {"body": "stuck", "count": 2}')
        broker.wait_for_count(0)
