"""Between the host's data and the function's types, through azure-functions' own converters.

`Datum` is the library's name for a value with its wire type, as the worker gets it from the host.
"""

import json
from collections.abc import Mapping
from typing import Any

from azure.functions import get_binding_registry
from azure.functions.meta import Datum

from devhost.functions.definitions import GENERIC, FunctionDefinition


def converter(binding_type: str) -> Any:
    """The library's converter class for a binding type."""
    return get_binding_registry().get(binding_type)  # type: ignore[no-untyped-call]  # the library has no types here


def text(value: str) -> Datum:
    return Datum(value, "string")


def as_json(value: object) -> Datum:
    """Numbers, dates and dictionaries travel as JSON text."""
    return Datum(json.dumps(value), "json")


def decode(
    function: FunctionDefinition, data: Datum | None, metadata: Mapping[str, Datum] | None = None
) -> Any:
    """The argument of the trigger parameter. Raises TypeError when the binding cannot take the data."""
    if function.trigger_converter == GENERIC:
        return _decode_generic(data)
    try:
        return converter(function.trigger_converter).decode(data, trigger_metadata=metadata or {})
    except NotImplementedError:
        kind = None if data is None else data.type
        raise TypeError(
            f"unable to decode incoming TypedData: unsupported combination of TypedData field {kind!r} "
            f"and expected binding type {function.trigger_converter}"
        ) from None


def _decode_generic(data: Datum | None) -> Any:
    if data is not None and data.type == "http":
        raise ValueError('unexpected type of data received for the "generic" binding', data.type)
    return None if data is None else data.value


def encode(function: FunctionDefinition, result: object) -> Any:
    """What `$return` gave, as a Datum. Raises TypeError for a type its binding cannot take."""
    try:
        return converter(str(function.return_binding)).encode(result, expected_type=function.return_type)
    except NotImplementedError:
        raise TypeError(
            f'unable to encode outgoing TypedData: unsupported type "{function.return_binding}" '
            f'for Python type "{type(result).__name__}"'
        ) from None
