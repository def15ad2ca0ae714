"""The local Service Bus as a team's own tests would use it: the broker alone, and an app of another kind.

The README's example shows more of it, and is run by a test of its own.
"""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusClient, ServiceBusMessage
from azure.servicebus.exceptions import ServiceBusError

from devhost.faults.proxy import Proxy
from devhost.faults.state import Direction
from devhost.outside.receiver import Receiver
from devhost.parts import PartError
from devhost.paths import ROOT
from devhost.stack import Part, Stack
from devhost.testing import local_stack
from tests.support.http import request
from tests.support.sdk_leaks import sockets_may_leak

APP = """
import json, os, urllib.request
import azure.functions as func
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)

@app.route("orders", methods=["POST"])
async def accept(req: func.HttpRequest) -> str:
    async with (
        ServiceBusClient.from_connection_string(os.environ["OrdersBus"]) as bus,
        bus.get_queue_sender("orders") as sender,
    ):
        await sender.send_messages(ServiceBusMessage(req.get_body()))
    return "accepted"

@app.service_bus_queue_trigger(arg_name="message", queue_name="orders", connection="OrdersBus")
def handle(message: func.ServiceBusMessage) -> None:
    url, body = os.environ["SHOP_URL"], message.get_body()
    urllib.request.urlopen(urllib.request.Request(url, data=body, method="POST"), timeout=60).read()

@app.route("settings")
def settings(req: func.HttpRequest) -> str:
    return json.dumps({name: os.environ.get(name) for name in ("SHOP_URL", "AzureWebJobsStorage")})
"""


@pytest.fixture(autouse=True)
def sdk_leaks() -> Iterator[None]:
    """The connections of `bus` are cut."""
    with sockets_may_leak():
        yield


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    queues = {"orders": {"LockDuration": "PT30S", "MaxDeliveryCount": 2}}
    with local_stack(tmp_path_factory.mktemp("bus"), queues=queues, proxied=True) as stack:
        yield stack


def send(stack: Stack, text: str) -> None:
    with (
        ServiceBusClient.from_connection_string(stack.servicebus, retry_total=0) as client,
        client.get_queue_sender("orders") as sender,
    ):
        sender.send_messages(ServiceBusMessage(text))


def received(stack: Stack, count: int) -> list[str]:
    """So many messages as they come, and what is left then."""
    with (
        ServiceBusClient.from_connection_string(stack.servicebus) as client,
        client.get_queue_receiver("orders", receive_mode="receiveanddelete") as receiver,
    ):
        found: list[str] = []
        while len(found) < count:
            came = receiver.receive_messages(count - len(found), max_wait_time=60)
            assert came, found
            found += [str(message) for message in came]
        return found + [str(message) for message in receiver.peek_messages(10, sequence_number=1)]


def test_the_broker_alone_is_one_process(bus: Stack) -> None:
    assert set(bus.pids) == {"broker"}
    assert (bus.url, bus.storage) == ("", "")
    with pytest.raises(PartError, match="has no host now; its parts are broker"):
        bus.kill(Part.HOST)


def test_a_frozen_broker_answers_when_thawed(bus: Stack) -> None:
    bus.freeze(Part.BROKER)
    later = threading.Timer(0.5, bus.thaw, [Part.BROKER])
    later.start()
    send(bus, "patient")
    later.join()
    assert received(bus, 1) == ["patient"]


@pytest.fixture(scope="module")
def shop() -> Iterator[Receiver]:
    with Receiver() as outside:
        yield outside


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, shop: Receiver) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("app")
    (folder / "function_app.py").write_text(APP)
    (folder / "host.json").write_text((ROOT / "host.json").read_text())
    settings = {"OrdersBus": "{servicebus}", "SHOP_URL": shop.url}
    with local_stack(folder / "state", queues=["orders"], app=folder, settings=settings) as stack:
        yield stack


def test_an_app_of_another_kind_runs_on_host_and_broker_without_azurite(app: Stack, shop: Receiver) -> None:
    assert set(app.pids) == {"host", "broker"}
    assert request("POST", f"{app.url}/api/orders", body=b"a kettle") == (200, b"accepted")
    assert shop.next(90) == "a kettle"


def test_the_app_sees_its_own_settings_and_none_of_a_part_that_is_not_there(
    app: Stack, shop: Receiver
) -> None:
    _, body = request("GET", f"{app.url}/api/settings")
    assert json.loads(body) == {"SHOP_URL": shop.url, "AzureWebJobsStorage": None}


def test_a_host_restarted_in_order_is_back_at_its_address(app: Stack, shop: Receiver) -> None:
    url, pid = app.url, app.pid(Part.HOST)
    app.restart(Part.HOST)
    assert (app.url, app.pid(Part.HOST) != pid) == (url, True)
    assert request("POST", f"{url}/api/orders", body=b"a cup")[0] == 200
    assert shop.next(90) == "a cup"
    assert "event=stopped" in app.log(Part.HOST).read_text()


def test_a_send_whose_answer_is_lost_is_an_error_and_the_message_is_there(bus: Stack) -> None:
    port = int(bus.servicebus.split(":")[2].split(";")[0])
    with (
        Proxy(port) as proxy,
        ServiceBusClient.from_connection_string(
            bus.servicebus.replace(f":{port};", f":{proxy.port};"), retry_total=0
        ) as client,
        client.get_queue_sender("orders") as sender,
    ):
        sender.send_messages(ServiceBusMessage("first"))
        proxy.cut_after(Direction.DOWN, 0)
        with pytest.raises(ServiceBusError):
            sender.send_messages(ServiceBusMessage("unknown"))
        assert proxy.cuts == 1
    assert received(bus, 2) == ["first", "unknown"]


def test_two_stacks_run_side_by_side_on_ports_and_messages_of_their_own(
    bus: Stack, app: Stack, shop: Receiver
) -> None:
    assert request("POST", f"{app.url}/api/orders", body=b"a plate")[0] == 200
    assert shop.next(90) == "a plate"
    assert received(bus, 0) == []


def test_a_string_is_no_list_of_queues(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="found the string 'orders'"):
        local_stack(tmp_path, queues="orders")
