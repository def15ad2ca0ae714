"""Let the worker index the app, and check that this host can serve what it found."""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from devhost.functions.definitions import (
    HTTP_TRIGGER,
    SERVICE_BUS_TRIGGER,
    TIMER_TRIGGER,
    FunctionDefinition,
    script_name,
)
from devhost.functions.errors import FunctionLoadError, StartError
from devhost.functions.log import host_log
from devhost.functions.retry import FOR_EVER
from devhost.functions.settings import AppSettings
from devhost.functions.worker.protocol import IndexedFunction, Worker

_TRIGGERS = (HTTP_TRIGGER, SERVICE_BUS_TRIGGER, TIMER_TRIGGER)
_OUTPUTS = ("http",)
_RETURN = "$return"
# Utility.IsValidFunctionName in Azure/azure-functions-host.
_NAME = re.compile(r"(?!host$)[a-z][a-z0-9_-]{0,127}", re.IGNORECASE)


async def load_functions(
    worker: Worker, app_directory: Path, settings: AppSettings
) -> list[FunctionDefinition]:
    """The app's functions in the host's order (by name).

    Raises StartError with every problem that can be known.
    """
    script = app_directory / script_name(os.environ)
    if not script.is_file():
        raise StartError(f"{script} does not exist; --app must name the folder of {script.name}")
    sys.path.insert(0, str(app_directory))
    definitions: list[FunctionDefinition] = []
    try:
        indexed = await worker.index(app_directory)
    except SystemExit as error:
        raise StartError(f"{script} ended the process when it was imported (SystemExit: {error})") from error
    problems = _problems_of_names([function.name for function in indexed])
    for function in indexed:
        try:
            definitions.append(_define(function, settings))
        except StartError as error:
            problems += error.problems
    if problems:
        raise StartError(problems)
    if not definitions:
        raise StartError(f"0 functions found in {script}")
    return sorted(definitions, key=lambda definition: definition.name.upper())


def without_disabled(
    functions: Iterable[FunctionDefinition], settings: AppSettings
) -> list[FunctionDefinition]:
    """Drop the functions switched off by the app setting `AzureWebJobs.<name>.Disabled`."""
    kept = []
    for function in functions:
        names = (f"AzureWebJobs.{function.name}.Disabled", f"AzureWebJobs_{function.name}_Disabled")
        if any(settings.is_true(name) for name in names):
            host_log.warning("event=function_disabled function=%s", function.name)
        else:
            kept.append(function)
    return kept


def _problems_of_names(names: list[str]) -> list[str]:
    """The host's own rules, which the worker does not know."""
    problems = [f"'{name}' is not a valid function name." for name in names if not _NAME.fullmatch(name)]
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            problems.append(f"the names {other!r} and {name!r} differ in case only; the host tells no case")
    return problems


def _define(function: IndexedFunction, settings: AppSettings) -> FunctionDefinition:
    trigger = _trigger_of(function)
    try:
        resolved = settings.resolve_all(trigger)
    except StartError as error:
        raise FunctionLoadError(function.name, "; ".join(error.problems)) from None
    _check_retry(function)
    if function.retry_policy is not None and trigger["type"] != TIMER_TRIGGER:
        _warn_of_retry(function.name, trigger)
    return FunctionDefinition(
        id=function.id,
        name=function.name,
        trigger=resolved,
        has_return=any(binding["name"] == _RETURN for binding in function.bindings),
        retry=function.retry_policy,
    )


def _trigger_of(function: IndexedFunction) -> Mapping[str, Any]:
    types = {str(binding["type"]) for binding in function.bindings}
    unknown = types - {*_TRIGGERS, *_OUTPUTS}
    if unknown:
        listed = ", ".join(sorted(unknown))
        raise FunctionLoadError(
            function.name,
            f"the binding type(s) '{listed}' are not registered; this host has {', '.join(_TRIGGERS)}, http",
        )
    trigger = next(binding for binding in function.bindings if binding["type"] in _TRIGGERS)
    for binding in function.bindings:
        if binding is not trigger and binding["name"] != _RETURN:
            raise FunctionLoadError(
                function.name,
                f"the output parameter {binding['name']!r} is not supported by this host; return the answer",
            )
    return trigger


def _check_retry(function: IndexedFunction) -> None:
    policy = function.retry_policy
    if policy is None:
        return
    if policy.max_retry_count < FOR_EVER:
        raise FunctionLoadError(
            function.name,
            f"retry: max_retry_count: {policy.max_retry_count} is no count; {FOR_EVER} is for no limit",
        )
    if policy.minimum > policy.maximum:
        raise FunctionLoadError(function.name, "retry: minimum_interval is longer than maximum_interval")


def _warn_of_retry(name: str, trigger: Mapping[str, Any]) -> None:
    """The decorator looks alive, and the platform does nothing with it but for timers."""
    host_log.warning(
        "event=retry_policy_ignored function=%s trigger=%s reason=the platform ignores it for this trigger",
        name,
        trigger["type"],
    )
