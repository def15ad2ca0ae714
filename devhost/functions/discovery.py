"""Import the app and read its functions, as the Python worker indexes a v2 app."""

import importlib
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from azure.functions import FunctionRegister

from devhost.functions.definitions import (
    HTTP_TRIGGER,
    SERVICE_BUS_TRIGGER,
    TIMER_TRIGGER,
    FunctionDefinition,
)
from devhost.functions.errors import FunctionLoadError, StartError
from devhost.functions.log import host_log
from devhost.functions.settings import AppSettings
from devhost.functions.signature import SignatureCheck

_TRIGGERS = (HTTP_TRIGGER, SERVICE_BUS_TRIGGER, TIMER_TRIGGER)
_OUTPUTS = ("http",)
_MODULE = "function_app"


def load_functions(app_directory: Path, settings: AppSettings) -> list[FunctionDefinition]:
    """Import `function_app` from the app's folder and return its functions in the host's order (by name).

    Raises StartError with every problem that can be known.
    """
    functions = _functions_of(_import_app(app_directory))
    definitions: list[FunctionDefinition] = []
    problems: list[str] = []
    for function in functions:
        try:
            definitions.append(_define(function, app_directory, settings))
        except StartError as error:
            problems += error.problems
    if problems:
        raise StartError(problems)
    if not definitions:
        raise StartError(f"0 functions found in {app_directory / (_MODULE + '.py')}")
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


def _import_app(app_directory: Path) -> ModuleType:
    script = app_directory / f"{_MODULE}.py"
    if not script.is_file():
        raise StartError(f"{script} does not exist; --app must name the folder of function_app.py")
    sys.path.insert(0, str(app_directory))
    try:
        return importlib.import_module(_MODULE)
    except ModuleNotFoundError as error:
        raise StartError(
            f"{type(error).__name__}: {error}. Cannot find module. Please check the requirements.txt file "
            "for the missing module."
        ) from error
    except Exception as error:
        raise StartError(f"importing {script} failed: {type(error).__name__}: {error}") from error


def _functions_of(module: ModuleType) -> list[Any]:
    apps = [
        value for name in dir(module) if isinstance(value := getattr(module, name, None), FunctionRegister)
    ]
    if not apps:
        raise StartError(f"Could not find top level function app instances in {_MODULE}.py.")
    if len(apps) > 1:
        raise StartError(
            f"More than one {type(apps[0]).__name__} or other top level function app instances are defined."
        )
    try:
        return list(apps[0].get_functions())
    except (ValueError, TypeError) as error:
        raise StartError(str(error)) from error


def _define(function: Any, app_directory: Path, settings: AppSettings) -> FunctionDefinition:
    name = function.get_function_name()
    bindings = [json.loads(raw) for raw in function.get_raw_bindings()]
    _check_supported(name, bindings)
    check = SignatureCheck(name, function.get_user_function(), bindings)
    converters = check.check_parameters()
    return_binding, return_type = check.check_return()
    trigger = next(binding for binding in bindings if binding["type"] in _TRIGGERS)
    try:
        resolved = settings.resolve_all(trigger)
    except StartError as error:
        raise FunctionLoadError(name, "; ".join(error.problems)) from None
    if function.get_settings_dict("retry_policy"):
        _warn_of_retry(name, trigger)
    return FunctionDefinition(
        name=name,
        call=function.get_user_function(),
        script_directory=app_directory,
        trigger=resolved,
        trigger_converter=converters[trigger["name"]],
        requires_context=check.requires_context(),
        return_binding=return_binding,
        return_type=return_type,
    )


def _check_supported(name: str, bindings: list[Mapping[str, Any]]) -> None:
    unknown = {str(b["type"]) for b in bindings} - {*_TRIGGERS, *_OUTPUTS}
    if unknown:
        listed = ", ".join(sorted(unknown))
        raise FunctionLoadError(
            name,
            f"the binding type(s) '{listed}' are not registered; this host has {', '.join(_TRIGGERS)}, http",
        )


def _warn_of_retry(name: str, trigger: Mapping[str, Any]) -> None:
    """Retry policies exist for timers, not for Service Bus; nothing may depend on them here."""
    host_log.warning(
        "event=retry_policy_ignored function=%s trigger=%s reason=%s",
        name,
        trigger["type"],
        "this host runs a timer once"
        if trigger["type"] == TIMER_TRIGGER
        else "the platform ignores it for this trigger",
    )
