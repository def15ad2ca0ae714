"""Which parts a stack starts and stops, and in what order; no process is started."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from devhost import stack as module
from devhost.parts import PartError, PartSpec
from devhost.stack import Part, Stack, StackOptions
from devhost.stack_options import AZURE_PARTS
from devhost.testing import local_stack

READY: Mapping[str, Any] = {"port": 1, "url": "http://127.0.0.1:1", "connection_string": "Endpoint=sb://x:1;"}


class Record:
    """Takes the place of `Supervised`: notes what is asked of each part."""

    calls: list[str]
    trouble: Callable[[str], None]

    def __init__(self, spec: PartSpec, *_others: object) -> None:
        self.spec = spec

    def start(self, _timeout: float) -> Mapping[str, Any]:
        self.calls.append(f"start {self.spec.name}")
        self.trouble(self.spec.name)
        return READY

    def stop(self, _grace: float) -> None:
        self.calls.append(f"stop {self.spec.name}")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    noted: list[str] = []
    monkeypatch.setattr(Record, "calls", noted, raising=False)
    monkeypatch.setattr(Record, "trouble", staticmethod(lambda _name: None), raising=False)
    monkeypatch.setattr(module, "Supervised", Record)
    return noted


def test_storage_and_broker_are_there_before_the_host_and_after_it(tmp_path: Path, calls: list[str]) -> None:
    with Stack(StackOptions(state=tmp_path)):
        assert calls == ["start azurite", "start broker", "start host"]
        calls.clear()
    assert calls == ["stop host", "stop broker", "stop azurite"]


def test_the_outside_is_there_before_the_host_and_after_it(tmp_path: Path, calls: list[str]) -> None:
    options = StackOptions(
        state=tmp_path,
        parts=AZURE_PARTS | {Part.OUTSIDE},
        outside={"AI_BASE_URL": "{outside}/v1"},
        extra_settings={"AI_PROVIDER": "openai"},
    )
    with Stack(options) as stack:
        assert calls == ["start azurite", "start broker", "start outside", "start host"]
        assert stack.values["AI_BASE_URL"] == "http://127.0.0.1:1/v1"
        assert stack.outside.url == "http://127.0.0.1:1"
        calls.clear()
    assert calls == ["stop host", "stop outside", "stop broker", "stop azurite"]


def test_a_stack_without_an_outside_says_so(tmp_path: Path, calls: list[str]) -> None:
    with Stack(StackOptions(state=tmp_path)) as stack, pytest.raises(PartError, match="no outside"):
        _ = stack.outside


@pytest.mark.parametrize(
    ("app", "storage", "started"),
    [
        (False, False, ["start broker"]),
        (True, False, ["start broker", "start host"]),
        (False, True, ["start azurite", "start broker"]),
        (True, True, ["start azurite", "start broker", "start host"]),
    ],
)
def test_only_what_is_wanted_is_started(
    tmp_path: Path, calls: list[str], app: bool, storage: bool, started: list[str]
) -> None:
    folder = tmp_path if app else None
    with local_stack(tmp_path / "state", queues=["orders"], app=folder, storage=storage):
        assert calls == started


def test_a_port_taken_in_the_meantime_is_no_reason_to_fail(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = iter([True, True, False])

    def trouble(name: str) -> None:
        if name == "broker" and next(taken):
            raise PartError("cannot listen on 127.0.0.1: address already in use")

    monkeypatch.setattr(Record, "trouble", staticmethod(trouble))
    with local_stack(tmp_path, queues=["orders"]):
        assert calls == ["start broker"] * 3


def test_a_part_that_cannot_start_stops_those_before_it(
    tmp_path: Path, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def trouble(name: str) -> None:
        if name == "host":
            raise PartError("no such luck")

    monkeypatch.setattr(Record, "trouble", staticmethod(trouble))
    with pytest.raises(PartError, match="no such luck"), Stack(StackOptions(state=tmp_path)):
        pass
    assert calls[-3:] == ["stop host", "stop broker", "stop azurite"]


def test_settings_name_the_parts_that_are_there(tmp_path: Path, calls: list[str]) -> None:
    settings = {"OrdersBus": "{servicebus}", "Other": "as it is {x}"}
    with local_stack(tmp_path / "state", queues=["orders"], app=tmp_path, settings=settings) as stack:
        assert stack.values["OrdersBus"] == READY["connection_string"]
        assert stack.values["Other"] == "as it is {x}"
        assert "AzureWebJobsStorage" not in stack.values
    assert calls


def test_an_address_outside_is_given_as_it_is_without_proxies_and_through_one_with_them(
    tmp_path: Path, calls: list[str]
) -> None:
    outside = {"SHOP_URL": "http://127.0.0.1:9/shop"}
    for proxied in (False, True):
        options = StackOptions(state=tmp_path / str(proxied), outside=outside, proxied=proxied)
        with Stack(options) as stack:
            assert (stack.values["SHOP_URL"] == outside["SHOP_URL"]) is not proxied
            assert ("SHOP_URL" in stack.proxies) is proxied
        assert stack.proxies == {}
    assert calls
