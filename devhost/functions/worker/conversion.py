"""Between the host's data and the function's types, through azure-functions' own converters."""

from collections.abc import Mapping
from typing import Any

from azure.functions import get_binding_registry
from azure.functions.meta import Datum

from devhost.functions.definitions import GENERIC
from devhost.functions.worker.cookies import read_cookies
from devhost.functions.worker.protocol import HttpResult, Result


def converter(binding_type: str) -> Any:
    """The library's converter class for a binding type, None for one it does not know."""
    return get_binding_registry().get(binding_type)  # type: ignore[no-untyped-call]  # the library has no types here


def decode(binding_type: str, data: Datum, metadata: Mapping[str, Datum]) -> Any:
    """The argument of the trigger parameter. Raises TypeError when the binding cannot take the data."""
    if binding_type == GENERIC:
        return _decode_generic(data)
    try:
        return converter(binding_type).decode(data, trigger_metadata=metadata)
    except NotImplementedError:
        raise TypeError(
            f"unable to decode incoming TypedData: unsupported combination of TypedData field {data.type!r} "
            f"and expected binding type {converter(binding_type)}"
        ) from None


def _decode_generic(data: Datum) -> Any:
    if data.type == "http":
        raise ValueError('unexpected type of data received for the "generic" binding ', repr(data.type))
    return data.value


def encode(binding_type: str, value: object, annotation: type | None) -> Result:
    """What `$return` gives. Raises TypeError for a value its binding cannot take."""
    try:
        datum = converter(binding_type).encode(value, expected_type=annotation)
    except NotImplementedError:
        raise TypeError(
            f'unable to encode outgoing TypedData: unsupported type "{binding_type}" '
            f'for Python type "{type(value).__name__}"'
        ) from None
    return str(datum.value) if datum.type == "string" else _http(datum.value)


def _http(value: Mapping[str, Any]) -> HttpResult:
    return HttpResult(
        status=value["status_code"].value,
        headers={name: header.value for name, header in value["headers"].items()},
        cookies=read_cookies(value["cookies"] or ()),
        body=value["body"].value,
    )
