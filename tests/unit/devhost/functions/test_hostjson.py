"""host.json."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devhost.functions.errors import StartError
from devhost.functions.hostjson import HostConfig, ServiceBusOptions, read_host_json


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
