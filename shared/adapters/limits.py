"""The storage service's limits, checked before a write so that the error says what was too large.

From https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model and
https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions. The local storage
emulator does not enforce all of them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from shared.ports import Row
from shared.records import RecordTooLarge

MAX_TEXT = 32 * 1024  # UTF-16 code units of one property
MAX_BINARY = 64 * 1024
MAX_CONTENT = 48 * 1024  # of a row's content: our own limit, with room for the service's
MAX_ENTITY = 1024 * 1024
MAX_OPERATIONS = 100
MAX_TRANSACTION = 4 * 1024 * 1024
MAX_KEY = 512  # UTF-16 code units
_PER_PROPERTY = 64  # a generous share for names, types and framing
_FORBIDDEN_IN_KEYS = frozenset("/\\#?")


def key_is_valid(key: str) -> bool:
    """Whether the tables take `key` as a partition or row key. The SDK does not check."""
    if not key or any(_refused_in_key(character) for character in key):
        return False
    return _units(key) <= MAX_KEY


def check_key(key: str, what: str) -> str:
    """`key` itself. Raises ValueError, naming `what` it was to be, when no table would take it."""
    if not key_is_valid(key):
        raise ValueError(
            f"{what} cannot be a storage key: it is empty, too long, or holds / \\ # ? or a control."
        )
    return key


def check_row(row: Row) -> None:
    """Raises RecordTooLarge for content over the port's limit, ValueError for an impossible key."""
    check_key(f"{row.kind}:{row.key}", f"the key of a {row.kind} row")
    if row.content is not None and len(row.content) > MAX_CONTENT:
        raise RecordTooLarge(
            f"The content of a {row.kind} row has {len(row.content)} bytes; at most {MAX_CONTENT} fit, "
            "so larger content belongs in a blob."
        )


def entity_size(entity: Mapping[str, object]) -> int:
    """The stored size in bytes, rounded up. Raises RecordTooLarge for a property over its limit."""
    total = sum(_property_size(name, value) for name, value in entity.items())
    if total > MAX_ENTITY:
        raise RecordTooLarge(f"A row has {total} bytes; a stored row holds at most {MAX_ENTITY}.")
    return total


def check_transaction(entities: Sequence[Mapping[str, object]]) -> None:
    """Raises RecordTooLarge when the entities do not fit one entity group transaction.

    Raises ValueError for a row that is in it twice: the service refuses that (`InvalidDuplicateRow`).
    """
    if len({entity.get("RowKey") for entity in entities}) < len(entities):
        raise ValueError("The same row was to be written twice at once.")
    if len(entities) > MAX_OPERATIONS:
        raise RecordTooLarge(
            f"{len(entities)} rows were to be written at once; at most {MAX_OPERATIONS} fit."
        )
    total = sum(entity_size(entity) for entity in entities)
    if total > MAX_TRANSACTION:
        raise RecordTooLarge(f"{total} bytes were to be written at once; at most {MAX_TRANSACTION} fit.")


def _property_size(name: str, value: object) -> int:
    match value:
        case str():
            units = _units(value)
            if units > MAX_TEXT:
                raise RecordTooLarge(f"The column `{name}` has {units} characters; at most {MAX_TEXT} fit.")
            size = 2 * units
        case bytes():
            if len(value) > MAX_BINARY:
                raise RecordTooLarge(f"The column `{name}` has {len(value)} bytes; at most {MAX_BINARY} fit.")
            size = len(value)
        case datetime() | bool() | int() | float() | None:
            size = 8
        case _:
            raise TypeError(f"The column `{name}` has the type {type(value).__name__}.")
    return size + 2 * len(name) + _PER_PROPERTY


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _refused_in_key(character: str) -> bool:
    code = ord(character)
    return code < 0x20 or 0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF or character in _FORBIDDEN_IN_KEYS
