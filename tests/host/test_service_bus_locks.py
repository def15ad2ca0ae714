"""Queue functions and time: locks, limits of concurrency, timeouts, and what does not start."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.broker import BrokerProcess, running_broker
from tests.host.harness import PATIENCE_SECONDS, HostProcess, start_fails, write_app
from tests.host.queue_apps import GOT, queue_app, service_bus, work_app
from tests.support.waiting import eventually

pytestmark = [pytest.mark.host, pytest.mark.broker]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path / "broker") as running:
        yield running


@pytest.fixture
def short_locks(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path / "broker", lock_duration="PT5S") as running:
        yield running


def test_no_more_than_max_concurrent_calls_run_at_once(tmp_path: Path, broker: BrokerProcess) -> None:
    source = (
        work_app("await slow(msg)")
        + """
running = most = 0

async def slow(msg):
    global running, most
    running += 1
    most = max(most, running)
    say("RUNNING", now=running)
    while most < 3:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.4)
    running -= 1
"""
    )
    app = queue_app(tmp_path, broker, source, extensions=service_bus(maxConcurrentCalls=3))
    with HostProcess(app) as host:
        broker.send(*[b"x"] * 12)
        broker.wait_for_count(0)
        host.wait_for_log("RUNNING {", times=12)
        seen = [int(n) for n in re.findall(r'RUNNING {"now": (\d+)}', host.log())]
    assert len(seen) == 12
    assert max(seen) == 3


def test_a_lock_is_renewed_while_the_function_runs(tmp_path: Path) -> None:
    lock, step = 300, 180
    held = """
    while not os.path.exists("let-go"):
        await asyncio.sleep(0.01)
    say("DONE")"""
    source = "import os\n" + work_app(GOT + held)
    with running_broker(tmp_path / "broker", lock_duration=f"PT{lock}S") as broker:
        app = queue_app(tmp_path, broker, source)
        with HostProcess(app, ("--plugin", "tests.host.impatient")) as host:
            broker.send(b"long")
            host.wait_for_log("GOT {")
            for ahead in (step, 2 * step, 3 * step):
                broker.clock.advance(step, timeout=PATIENCE_SECONDS)
                # A lock renewed before that step ends earlier.
                wanted = time.time() + ahead + lock - step / 2
                eventually(lambda wanted=wanted: _locked_until(host) > wanted, "it is renewed")  # type: ignore[misc]
            (app / "let-go").touch()
            host.wait_for_log("DONE")
            broker.wait_for_count(0)
            assert host.log().count("GOT {") == 1


def _locked_until(host: HostProcess) -> float:
    """The end of the lock as the impatient host told it last."""
    return max((float(told) for told in re.findall(r"LOCKED until=(\S+)", host.log())), default=0.0)


def test_a_lock_is_renewed_no_longer_than_host_json_says(tmp_path: Path, short_locks: BrokerProcess) -> None:
    source = work_app(GOT + "; await asyncio.sleep(6.5 if msg.delivery_count == 1 else 0)")
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
    source = work_app(GOT + "; await asyncio.sleep(600 if msg.delivery_count == 1 else 0)")
    with HostProcess(queue_app(tmp_path, broker, source, functionTimeout="00:00:02")) as host:
        broker.send(b"stuck")
        assert host.wait() == 70
    broker.end_locks()
    with HostProcess(queue_app(tmp_path, broker, source)) as host:
        host.wait_for_log('GOT {"body": "stuck", "count": 2}')
        broker.wait_for_count(0)
