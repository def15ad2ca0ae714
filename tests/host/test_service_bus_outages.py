"""Queue functions while the broker goes away, or the host itself."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.host.broker import BrokerProcess, running_broker
from tests.host.harness import HostProcess
from tests.host.queue_apps import GOT, queue_app, service_bus, work_app

pytestmark = [pytest.mark.host, pytest.mark.broker]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with running_broker(tmp_path / "broker") as running:
        yield running


def test_a_broker_that_is_away_at_start_stops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "broker"
    folder.mkdir()
    broker = BrokerProcess(folder)
    source = (
        work_app(GOT)
        + """
@app.route(route="ok")
def ok(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("ok")
"""
    )
    with HostProcess(queue_app(tmp_path, broker, source)) as host:
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
    source = work_app(GOT + "; await asyncio.sleep(0.3)")
    app = queue_app(tmp_path, broker, source, extensions=service_bus(maxConcurrentCalls=2))
    with HostProcess(app) as host:
        for round_number in range(2):  # as many outages as calls at once: each may cost one
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
    with HostProcess(
        queue_app(tmp_path, broker, work_app(GOT + '; await asyncio.sleep(3); say("DONE")'))
    ) as host:
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
    with HostProcess(
        queue_app(tmp_path, broker, work_app(GOT + '; await asyncio.sleep(1); say("DONE")'))
    ) as host:
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
    held = """
    while not os.path.exists("let-go"):
        await asyncio.sleep(0.01)
    say("DONE")"""
    source = "import os\n" + work_app(GOT + held)
    app = queue_app(tmp_path, broker, source, extensions=service_bus(maxConcurrentCalls=1))
    with HostProcess(app) as host:
        broker.send(b"first", b"second")
        host.wait_for_log('GOT {"body": "first"')
        host.process.terminate()
        host.wait_refusing()
        (app / "let-go").touch()
        assert host.wait() == 0
        assert host.log().count("DONE") == 1
    assert [b"".join(m.body) for m in broker.peek()] == [b"second"]


def test_a_host_killed_at_work_leaves_its_message_to_the_next(tmp_path: Path, broker: BrokerProcess) -> None:
    app = queue_app(
        tmp_path, broker, work_app(GOT + "; await asyncio.sleep(600 if msg.delivery_count == 1 else 0)")
    )
    with HostProcess(app) as host:
        broker.send(b"kept")
        host.wait_for_log("GOT {")
        host.process.kill()
        host.wait()
    broker.end_locks()
    with HostProcess(app) as host:
        host.wait_for_log('GOT {"body": "kept", "count": 2}')
        broker.wait_for_count(0)
