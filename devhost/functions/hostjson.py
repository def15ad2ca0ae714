"""host.json: the parts that change how functions run.

Source: https://learn.microsoft.com/azure/azure-functions/functions-host-json
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from devhost.functions.errors import StartError
from devhost.functions.hostjson_keys import unknown_keys
from devhost.functions.log import host_log
from devhost.functions.timespan import parse_timespan

_SHORTEST_TIMEOUT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What a hosting plan says of `functionTimeout`."""

    default: timedelta
    longest: timedelta | None
    """None: -1, for no limit, is allowed."""


CONSUMPTION = PlanLimits(timedelta(minutes=5), timedelta(minutes=10))
OTHER_PLANS = PlanLimits(timedelta(minutes=30), None)
"""Flex Consumption, Premium, Dedicated, Container Apps."""

_LEVELS = {
    "trace": "DEBUG",
    "debug": "DEBUG",
    "information": "INFO",
    "warning": "WARNING",
    "error": "ERROR",
    "critical": "CRITICAL",
    "none": "CRITICAL",
}


@dataclass(frozen=True, slots=True)
class ServiceBusOptions:
    """`extensions.serviceBus`, with the extension's defaults."""

    max_concurrent_calls: int = 16
    auto_complete: bool = True
    max_auto_lock_renewal: timedelta = timedelta(minutes=5)
    """How long a message's lock is renewed; negative: for ever."""


@dataclass(frozen=True, slots=True)
class HostConfig:
    """What host.json says, checked."""

    function_timeout: timedelta | None = OTHER_PLANS.default
    """None: a function may run for ever."""
    route_prefix: str = "api"
    log_level: str = "INFO"
    has_extension_bundle: bool = False
    service_bus: ServiceBusOptions = field(default_factory=ServiceBusOptions)


def plan_of(settings: Mapping[str, str]) -> PlanLimits:
    """The platform tells an app its plan by `WEBSITE_SKU`; `Dynamic` is Consumption."""
    return CONSUMPTION if settings.get("WEBSITE_SKU", "").lower() == "dynamic" else OTHER_PLANS


def read_host_json(path: Path, plan: PlanLimits = OTHER_PLANS) -> HostConfig:
    """Read and check host.json. Raises StartError naming the key, what was expected and what was found.

    What it says and nobody reads is logged: a misspelt setting has its default, here and on the platform.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise StartError(f"{path}: cannot be read ({error.strerror}); every app needs a host.json") from None
    except ValueError as error:
        raise StartError(f"{path}: is not JSON ({error})") from None
    if not isinstance(document, dict):
        raise StartError(f"{path}: expected a JSON object")
    reader = _Reader(path, document, plan)
    config = reader.config()
    for key in unknown_keys(document):
        host_log.warning("event=host_json_key_unknown key=%s", key)
    if reader.problems:
        raise StartError(reader.problems)
    return config


class _Reader:
    def __init__(self, path: Path, document: object, plan: PlanLimits) -> None:
        self._path = path
        self._plan = plan
        self._document = document
        self.problems: list[str] = []

    def config(self) -> HostConfig:
        if self._find("version") != "2.0":
            self.problems.append(f"{self._path}: the required 'version' property must be \"2.0\"")
        return HostConfig(
            function_timeout=self._function_timeout(),
            route_prefix=self._text("extensions.http.routePrefix", "api").strip("/"),
            log_level=self._log_level(),
            has_extension_bundle=isinstance(self._find("extensionBundle.id"), str),
            service_bus=self._service_bus(),
        )

    def _log_level(self) -> str:
        """The default's; those of single categories are checked, no more."""
        levels = self._find("logging.logLevel", {})
        if not isinstance(levels, Mapping):
            self._wrong("logging.logLevel", "an object of levels", levels)
            return "INFO"
        for category, level in levels.items():
            if not isinstance(level, str) or level.lower() not in _LEVELS:
                self._wrong(f"logging.logLevel.{category}", f"one of {', '.join(_LEVELS)}", level)
        return _LEVELS.get(str(levels.get("default", "Information")).lower(), "INFO")

    def _function_timeout(self) -> timedelta | None:
        longest = self._plan.longest
        if longest is None and self._find("functionTimeout") in (-1, "-1"):
            return None
        timeout = self._span("functionTimeout", self._plan.default)
        if timeout < _SHORTEST_TIMEOUT or (longest is not None and timeout > longest):
            most = "-1 for no limit" if longest is None else f"at most {longest} on the Consumption plan"
            self._wrong("functionTimeout", f"hh:mm:ss of at least one second, or {most}", str(timeout))
        return timeout

    def _service_bus(self) -> ServiceBusOptions:
        where = "extensions.serviceBus"
        if self._find(f"{where}.prefetchCount") not in (None, 0):
            self._wrong(
                f"{where}.prefetchCount",
                "0, the only value this host has",
                self._find(f"{where}.prefetchCount"),
            )
        if self._find(f"{where}.transportType", "amqpTcp") != "amqpTcp":
            self._wrong(
                f"{where}.transportType",
                "amqpTcp, the only transport this host has",
                self._find(f"{where}.transportType"),
            )
        calls = self._find(f"{where}.maxConcurrentCalls", 16)
        if not isinstance(calls, int) or isinstance(calls, bool) or calls < 1:
            self._wrong(f"{where}.maxConcurrentCalls", "a whole number of at least 1", calls)
            calls = 1
        complete = self._find(f"{where}.autoCompleteMessages", True)
        if not isinstance(complete, bool):
            self._wrong(f"{where}.autoCompleteMessages", "true or false", complete)
        return ServiceBusOptions(
            max_concurrent_calls=calls,
            auto_complete=complete is not False,
            max_auto_lock_renewal=self._span(f"{where}.maxAutoLockRenewalDuration", timedelta(minutes=5)),
        )

    def _find(self, dotted: str, default: object = None) -> Any:
        value: object = self._document
        for key in dotted.split("."):
            if not isinstance(value, Mapping):
                return default
            value = value.get(key)
        return default if value is None else value

    def _text(self, dotted: str, default: str) -> str:
        value = self._find(dotted, default)
        if isinstance(value, str):
            return value
        self._wrong(dotted, "a string", value)
        return default

    def _span(self, dotted: str, default: timedelta) -> timedelta:
        value = self._find(dotted)
        if value is None:
            return default
        try:
            return parse_timespan(value if isinstance(value, str) else "")
        except ValueError:
            self._wrong(dotted, "a TimeSpan such as 00:05:00", value)
            return default

    def _wrong(self, key: str, expected: str, found: object) -> None:
        self.problems.append(f"{self._path}: {key}: expected {expected}, found {json.dumps(found)}")
