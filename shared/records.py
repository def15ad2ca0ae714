"""The stored form of jobs, rows and cases: JSON text with an exact round trip.

A record written by a newer version may carry fields that this one does not know; they are skipped, so two
versions can run side by side. A field that a newer version adds must therefore have a default.
"""

import json
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import TypeAdapter

from shared.errors import AfterhookError, PermanentError

T = TypeVar("T")
_adapters: dict[type[Any], TypeAdapter[Any]] = {}


class RecordTooLarge(PermanentError):
    """A record is larger than the storage takes; keep large content in a blob."""

    code: ClassVar[str] = "record_too_large"


class RecordUnreadable(AfterhookError):
    """A stored record cannot be read by this version."""

    code: ClassVar[str] = "record_unreadable"


def to_text(record: object) -> str:
    """The record, a dataclass, as JSON. Raises ValueError for text that is not valid Unicode."""
    try:
        return _adapter(type(record)).dump_json(record).decode()
    except ValueError:
        raise ValueError(f"A {type(record).__name__} holds a value that JSON cannot carry.") from None


def from_text(kind: type[T], text: str | bytes) -> T:
    """The record of that kind in `text`. Raises RecordUnreadable, which never quotes the record."""
    try:
        adapter: TypeAdapter[T] = _adapter(kind)
        return adapter.validate_json(text)
    except ValueError:
        raise RecordUnreadable(
            f"A stored {kind.__name__} has a form that this version does not know."
        ) from None


def data_to_text(data: Mapping[str, Any]) -> str:
    """A row's data as JSON. Raises ValueError for what JSON cannot carry (NaN and infinities too)."""
    try:
        return json.dumps(dict(data), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise ValueError("A row's data holds a value that JSON cannot carry.") from None


def data_from_text(text: str) -> dict[str, Any]:
    """The data of a row. Raises RecordUnreadable."""
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise RecordUnreadable("A stored row is not a JSON object.")
    return data


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]
