"""The local stack with a small app: three real processes that can be killed, frozen and cut off."""

import dataclasses
import os
import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from azure.data.tables import TableServiceClient

from devhost.parts import PartError
from devhost.stack import Part, Stack
from devhost.stack_options import AZURE_PARTS, StackOptions
from devhost.state_folder import StateInUseError
from tests.support.http import request
from tests.support.small_app import small_app
from tests.support.waiting import eventually, is_alive


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    said: list[str] = []
    options = small_app(tmp_path_factory.mktemp("stack"), proxied=True)
    with Stack(options, said.append) as running:
        yield running


@pytest.fixture(autouse=True)
def all_ready(stack: Stack) -> Iterator[None]:
    yield
    for proxy in stack.proxies.values():
        proxy.heal()
    for part in AZURE_PARTS:
        stack.thaw(part)
        stack.wait_ready(part)


def write(stack: Stack, timeout: float = 30) -> int:
    return request("POST", f"{stack.url}/api/write/t{uuid.uuid4().hex}", timeout=timeout)[0]


def send(stack: Stack) -> int:
    return request("POST", f"{stack.url}/api/send", {"x-functions-key": stack.operator_key})[0]


def test_the_app_reaches_storage_and_broker(stack: Stack) -> None:
    assert (write(stack), send(stack)) == (200, 200)


def test_a_function_key_is_needed_where_the_function_asks_for_one(stack: Stack) -> None:
    assert request("POST", f"{stack.url}/api/send")[0] == 401


def test_each_source_has_a_secret(stack: Stack) -> None:
    assert list(stack.secrets) == ["github"]
    assert stack.secrets["github"] == stack.values["GITHUB_WEBHOOK_SECRET"]


@pytest.mark.parametrize("part", sorted(AZURE_PARTS))
def test_a_killed_part_is_back_on_the_same_port(stack: Stack, part: Part) -> None:
    old, lives = stack.pid(part), stack.lives(part)
    os.kill(old, signal.SIGKILL)
    eventually(lambda: stack.lives(part) > lives, "it is started again")
    stack.wait_ready(part)
    assert stack.pid(part) != old
    assert (write(stack), send(stack)) == (200, 200)


def test_a_part_can_be_kept_down(stack: Stack) -> None:
    stack.kill(Part.BROKER, restart=False)
    with pytest.raises(PartError, match="broker is not running"):
        stack.pid(Part.BROKER)
    assert send(stack) == 500
    stack.resume(Part.BROKER)
    assert send(stack) == 200


@pytest.mark.parametrize(("part", "call"), [(Part.BROKER, send), (Part.HOST, write)])
def test_a_part_ended_in_order_stays_down_until_it_is_resumed_on_its_port(
    stack: Stack, part: Part, call: Callable[[Stack], int]
) -> None:
    old, lives = stack.pid(part), stack.lives(part)
    stack.end(part)
    assert not is_alive(old)
    with pytest.raises(PartError, match="is not running"):
        stack.freeze(part)
    assert stack.lives(part) == lives
    stack.resume(part)
    assert (stack.lives(part), call(stack)) == (lives + 1, 200)


def test_what_azurite_was_told_survives_its_end_by_sigterm(stack: Stack) -> None:
    url = f"{stack.url}/api/write/t{uuid.uuid4().hex}"
    assert request("POST", url)[0] == 200
    stack.restart(Part.AZURITE)
    assert request("POST", url)[0] == 200


def test_storage_in_memory_writes_nothing_to_disk_and_forgets(tmp_path: Path) -> None:
    options = StackOptions(state=tmp_path, parts=frozenset({Part.AZURITE}), storage_in_memory=True)
    with Stack(options, lambda _said: None) as stack:
        with TableServiceClient.from_connection_string(stack.storage) as service:
            service.create_table("kept").upsert_entity({"PartitionKey": "p", "RowKey": "r"})
            assert [table.name for table in service.list_tables()] == ["kept"]
            stack.restart(Part.AZURITE)
            assert list(service.list_tables()) == []
        assert list((tmp_path / "azurite").iterdir()) == []


def test_a_frozen_azurite_answers_nothing_until_thawed(stack: Stack) -> None:
    stack.freeze(Part.AZURITE)
    with pytest.raises(TimeoutError):
        write(stack, timeout=0.7)
    stack.thaw(Part.AZURITE)
    assert write(stack) == 200


@pytest.mark.parametrize(("link", "call"), [("table", write), ("broker", send)])
def test_the_app_can_be_cut_off_from_a_part(stack: Stack, link: str, call: object) -> None:
    assert callable(call)
    stack.proxies[link].refuse()
    assert call(stack) == 500
    stack.proxies[link].heal()
    assert call(stack) == 200


def test_every_link_of_the_host_has_a_proxy(stack: Stack) -> None:
    assert set(stack.proxies) == {"blob", "table", "queue", "broker", "host"}


def test_a_client_whose_answer_is_lost_on_its_way_from_the_host_had_its_effect(stack: Stack) -> None:
    path = f"/api/write/t{uuid.uuid4().hex}"
    assert request("POST", f"{stack.client_url}/api/write/other")[0] == 200
    stack.proxies["host"].lose_answers()
    with pytest.raises(ConnectionError):
        request("POST", f"{stack.client_url}{path}")
    stack.proxies["table"].refuse()
    assert request("POST", f"{stack.client_url}{path}")[0] == 500
    stack.proxies["table"].heal()
    with TableServiceClient.from_connection_string(stack.storage) as service:
        names = {table.name for table in service.list_tables()}
    assert path.rpartition("/")[2] in names


def test_the_parts_log_each_into_a_file_of_its_own(stack: Stack) -> None:
    logs = {part: stack.log(part) for part in AZURE_PARTS}
    assert len(set(logs.values())) == 3
    assert "event=started" in logs[Part.HOST].read_text()
    assert "Table service is successfully listening" in stack.last_lines(Part.AZURITE)


def test_the_broker_s_time_is_the_system_s_unless_asked_otherwise(stack: Stack) -> None:
    with pytest.raises(PartError, match="start the stack with clock=True"):
        _ = stack.clock


def test_a_second_stack_on_the_same_state_is_refused_and_the_first_goes_on(stack: Stack) -> None:
    with pytest.raises(StateInUseError), Stack(stack.options):
        pass
    assert write(stack) == 200


def test_a_stack_leaves_nothing_running_and_keeps_its_keys(tmp_path_factory: pytest.TempPathFactory) -> None:
    options = small_app(tmp_path_factory.mktemp("short"))
    with Stack(options) as first:
        pids, key = list(first.pids.values()), first.operator_key
    assert not any(is_alive(pid) for pid in pids)
    with Stack(dataclasses.replace(options, failpoints=True)) as second:
        assert second.operator_key == key


def test_an_app_that_cannot_start_is_an_error_with_its_own_words_and_leaves_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    options = small_app(tmp_path_factory.mktemp("broken"))
    (options.app / "function_app.py").write_text("raise RuntimeError('no such luck')")
    stack = Stack(options)
    with pytest.raises(PartError, match=r"host ended with code 1(.|\n)*no such luck"), stack:
        pass
    for part in (Part.AZURITE, Part.BROKER):
        with pytest.raises(PartError, match="is not running"):
            stack.pid(part)
