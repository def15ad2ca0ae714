"""Keys of the case lists, and the cursor that continues one.

A list row sorts by its time of death, newest first: tables return rows in the order of their keys, so the key
begins with what is left of the largest time.
"""

import base64
import json
from datetime import UTC, datetime, timedelta

from shared.adapters.limits import key_is_valid
from shared.ports import Case, CaseFilter, CaseState

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MICROSECOND = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_DIGITS = 18
_MAX_CURSOR = 1024


def list_key(case: Case) -> str:
    """Where the case stands in its list: the same however often it is computed."""
    microseconds = (case.dead_at - _EPOCH) // timedelta(microseconds=1)
    return f"{_LAST_MICROSECOND - microseconds:0{_DIGITS}d}:{case.job_id}:{case.release}"


def to_cursor(state: CaseState, last_key: str) -> str:
    """An opaque text that continues the list of `state` after `last_key`."""
    raw = json.dumps([state.value, last_key], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def from_cursor(wanted: CaseFilter, cursor: str) -> str:
    """The key after which to go on. Raises ValueError when the cursor is none of ours, or of another list."""
    state, key = _read(cursor)
    if state != wanted.state.value:
        raise ValueError("The cursor belongs to another list; start without one.")
    return key


def matches(wanted: CaseFilter, case: Case) -> bool:
    """Whether the case is one that the filter asks for."""
    return (
        case.state is wanted.state
        and wanted.category in (None, case.category)
        and wanted.task_type in (None, case.task_type)
        and wanted.fingerprint in (None, case.fingerprint)
    )


def _read(cursor: str) -> tuple[str, str]:
    invalid = ValueError("The cursor is not one that this list gave out; start without one.")
    if len(cursor) > _MAX_CURSOR or not cursor.isascii():
        raise invalid
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        document = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        raise invalid from None
    match document:
        case [str() as state, str() as key] if key_is_valid(key):
            return state, key
        case _:
            raise invalid
