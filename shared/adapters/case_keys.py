"""Keys of the case lists.

A list row sorts by its time of death, newest first: tables return rows in the order of their keys, so the key
begins with what is left of the largest time.
"""

from datetime import UTC, datetime, timedelta

from shared.deadletters.ports import Case, CaseFilter

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MICROSECOND = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_DIGITS = 18


def list_key(case: Case) -> str:
    """Where the case stands in its list: the same however often it is computed."""
    microseconds = (case.dead_at - _EPOCH) // timedelta(microseconds=1)
    return f"{_LAST_MICROSECOND - microseconds:0{_DIGITS}d}:{case.job_id}:{case.release}"


def matches(wanted: CaseFilter, case: Case) -> bool:
    """Whether the case is one that the filter asks for."""
    return (
        case.state is wanted.state
        and wanted.category in (None, case.category)
        and wanted.task_type in (None, case.task_type)
        and wanted.fingerprint in (None, case.fingerprint)
    )
