"""host.json."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devhost.functions.errors import StartError
from devhost.functions.hostjson import (
    CONSUMPTION,
    HostConfig,
    ServiceBusOptions,
    plan_of,
    read_host_json,
)


def _read(folder: Path, document: dict[str, Any]) -> HostConfig:
    path = folder / "host.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return read_host_json(path)


def test_an_almost_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    assert _read(tmp_path, {"version": "2.0"}) == HostConfig(
        function_timeout=timedelta(minutes=30),
        route_prefix="api",
        log_level="INFO",
        has_extension_bundle=False,
        service_bus=ServiceBusOptions(16, auto_complete=True, max_auto_lock_renewal=timedelta(minutes=5)),
    )


def test_every_setting_that_counts_is_read(tmp_path: Path) -> None:
    service_bus = {
        "prefetchCount": 0,
        "maxConcurrentCalls": 4,
        "autoCompleteMessages": False,
        "maxAutoLockRenewalDuration": "00:40:00",
    }
    config = _read(
        tmp_path,
        {
            "version": "2.0",
            "functionTimeout": "00:10:00",
            "logging": {"logLevel": {"default": "Warning"}},
            "extensions": {"http": {"routePrefix": "/hooks/"}, "serviceBus": service_bus},
            "extensionBundle": {"id": "Microsoft.Azure.Functions.ExtensionBundle"},
        },
    )
    assert config == HostConfig(
        timedelta(minutes=10),
        "hooks",
        "WARNING",
        has_extension_bundle=True,
        service_bus=ServiceBusOptions(4, auto_complete=False, max_auto_lock_renewal=timedelta(minutes=40)),
    )


@pytest.mark.parametrize("value", ["-1", -1])
def test_a_function_timeout_of_minus_one_is_no_limit(tmp_path: Path, value: object) -> None:
    assert _read(tmp_path, {"version": "2.0", "functionTimeout": value}).function_timeout is None


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    service_bus = {
        "prefetchCount": 5,
        "maxConcurrentCalls": 0,
        "autoCompleteMessages": "yes",
        "maxAutoLockRenewalDuration": 5,
    }
    with pytest.raises(StartError) as caught:
        _read(
            tmp_path,
            {
                "version": "1",
                "functionTimeout": "00:00:00",
                "logging": {"logLevel": {"default": "Loud"}},
                "extensions": {"http": {"routePrefix": 7}, "serviceBus": service_bus},
            },
        )
    keys = ["version", "functionTimeout", "default", "routePrefix", *service_bus]
    assert len(caught.value.problems) == len(keys)
    assert all(any(key in problem for problem in caught.value.problems) for key in keys)


@pytest.mark.parametrize(("text", "sentence"), [(None, "every app needs a host.json"), ("{", "is not JSON")])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, text: str | None, sentence: str) -> None:
    path = tmp_path / "host.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(StartError, match=sentence):
        read_host_json(path)


@pytest.mark.parametrize(("timeout", "minutes"), [(None, 5), ("00:10:00", 10)])
def test_on_the_consumption_plan_a_function_has_five_minutes_and_at_most_ten(
    tmp_path: Path, timeout: str | None, minutes: int
) -> None:
    document = {"version": "2.0"} | ({"functionTimeout": timeout} if timeout else {})
    path = tmp_path / "host.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert read_host_json(path, plan_of({"WEBSITE_SKU": "Dynamic"})).function_timeout == timedelta(
        minutes=minutes
    )


@pytest.mark.parametrize("timeout", [-1, "-1", "00:10:01"])
def test_the_consumption_plan_allows_no_longer_timeout(tmp_path: Path, timeout: object) -> None:
    path = tmp_path / "host.json"
    path.write_text(json.dumps({"version": "2.0", "functionTimeout": timeout}), encoding="utf-8")
    with pytest.raises(StartError, match="functionTimeout: expected"):
        read_host_json(path, CONSUMPTION)


def test_a_whole_number_alone_is_days_as_dotnet_reads_it(tmp_path: Path) -> None:
    assert _read(tmp_path, {"version": "2.0", "functionTimeout": "5"}).function_timeout == timedelta(5)


@pytest.mark.parametrize("timeout", ["00:00:00", "-00:05:00", "00:00:00.5", "24:00:00", "ever", True, 300])
def test_a_timeout_that_is_none_is_refused(tmp_path: Path, timeout: object) -> None:
    with pytest.raises(StartError, match="functionTimeout: expected"):
        _read(tmp_path, {"version": "2.0", "functionTimeout": timeout})


def test_the_level_of_every_category_is_checked(tmp_path: Path) -> None:
    levels = {"default": "Warning", "Function": "Loud", "Azure.Core": 3}
    with pytest.raises(StartError) as caught:
        _read(tmp_path, {"version": "2.0", "logging": {"logLevel": levels}})
    assert [problem.split(": ")[1] for problem in caught.value.problems] == [
        "logging.logLevel.Function",
        "logging.logLevel.Azure.Core",
    ]


def test_a_transport_this_host_has_not_is_refused(tmp_path: Path) -> None:
    options = {"serviceBus": {"transportType": "amqpWebSockets"}}
    with pytest.raises(StartError, match="transportType: expected amqpTcp"):
        _read(tmp_path, {"version": "2.0", "extensions": options})


def test_a_key_that_nothing_reads_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    service_bus = {"maxConcurentCalls": 1, "PREFETCHCOUNT": 0, "clientRetryOptions": {"maxTries": 1}}
    document = {
        "version": "2.0",
        "functionTimeOuts": "00:01:00",
        "extensions": {"serviceBus": service_bus, "queues": {"anything": 1}},
    }
    _read(tmp_path, document)
    assert [record.getMessage() for record in caplog.records] == [
        "event=host_json_key_unknown key=functionTimeOuts",
        "event=host_json_key_unknown key=extensions.serviceBus.maxConcurentCalls",
        "event=host_json_key_unknown key=extensions.serviceBus.clientRetryOptions.maxTries",
    ]


def test_a_file_that_is_no_object_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(StartError, match="expected a JSON object"):
        read_host_json(path)
