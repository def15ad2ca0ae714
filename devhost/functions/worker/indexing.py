"""Import an app and check its functions, as the Python worker indexes a v2 app, in its words.

Source: `loader.py` and `functions.py` in the PyPI package azure-functions-runtime. Unlike it, this names
every function that does not load, not only the first.
"""

import importlib
import inspect
import json
import re
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from azure.functions import FunctionRegister

from devhost.functions.errors import FunctionLoadError, StartError
from devhost.functions.worker.failures import message_of
from devhost.functions.worker.protocol import IndexedFunction
from devhost.functions.worker.retry_settings import retry_policy_of
from devhost.functions.worker.signature import SignatureCheck

_SCRIPT_NAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_\-]*\.py")
_MODULE_HINT = (
    "Cannot find module. Please check the requirements.txt file for the missing module. For more info, "
    "please refer the troubleshooting guide: https://aka.ms/functions-modulenotfound. Current sys.path: "
)


class InvalidFileNameError(Exception):
    """The app's file has a name that no module can have."""


@dataclass(frozen=True, slots=True)
class LoadedFunction:
    """One function, checked against its bindings and ready to be called."""

    name: str
    call: Callable[..., Any]
    directory: str
    """Where its code is; for an ASGI app that is the library's folder, as in the worker."""
    converters: Mapping[str, str]
    """For each input parameter the binding type whose converter makes it; `generic` for `str` and `bytes`."""
    requires_context: bool
    return_binding: str | None
    """The type of the `$return` binding, if there is one."""
    return_type: type | None

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.call)


def index_app(script: str) -> list[tuple[IndexedFunction, LoadedFunction]]:
    """Import the module of this file name from `sys.path`. Raises StartError with what is wrong.

    Its cause is what the module itself raised, for the trace that leads to the line.
    """
    try:
        module = _import_app(script)
    except Exception as error:
        raise StartError(message_of(error)) from error
    try:
        functions = _functions_of(module, script)
    except Exception as error:  # noqa: BLE001 - of the library, which raises ValueError and more
        raise StartError(message_of(error)) from None
    indexed, problems = [], []
    for function in functions:
        try:
            indexed.append(_index(function))
        except (FunctionLoadError, TypeError, NameError, ValueError) as error:
            problems.append(message_of(error))
    if problems:
        raise StartError(problems)
    return indexed


def _import_app(script: str) -> ModuleType:
    if not _SCRIPT_NAME.fullmatch(script):
        raise InvalidFileNameError("Invalid file name: %s", script)  # the worker does not format it either
    try:
        return importlib.import_module(Path(script).stem)
    except ImportError as error:
        told = f"{str(error).rstrip('.')}. {_MODULE_HINT}{' '.join(sys.path)}"
        raise type(error)(told).with_traceback(error.__traceback__) from None


def _functions_of(module: ModuleType, script: str) -> list[Any]:
    apps = [
        value
        for name in module.__dir__()
        if isinstance(value := getattr(module, name, None), FunctionRegister)
    ]
    if not apps:
        raise ValueError(f"Could not find top level function app instances in {script}.")
    if len(apps) > 1:
        raise ValueError(
            f"More than one {type(apps[0]).__name__} or other top level function app instances are defined."
        )
    return list(apps[0].get_functions())


def _index(function: Any) -> tuple[IndexedFunction, LoadedFunction]:
    name, call = function.get_function_name(), function.get_user_function()
    bindings = [json.loads(raw) for raw in function.get_raw_bindings()]
    check = SignatureCheck(name, call, bindings)
    converters = check.check_parameters()
    return_binding, return_type = check.check_return()
    indexed = IndexedFunction(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, name)),
        name=name,
        bindings=bindings,
        retry_policy=retry_policy_of(function.get_settings_dict("retry_policy")),
    )
    loaded = LoadedFunction(
        name=name,
        call=call,
        directory=str(Path(inspect.getfile(call)).parent),
        converters=converters,
        requires_context=check.requires_context(),
        return_binding=return_binding,
        return_type=return_type,
    )
    return indexed, loaded
