"""The case store: a truth row for each (job, release) in the job's partition, and a list row for each state.

    truth   PartitionKey = job id         RowKey = case:{releases left}    newest release first
    list    PartitionKey = list:{state}   RowKey = {time left}:{job id}:{release}    newest case first

The truth is written first and list keys are computed from it alone, so whoever repeats a step writes the same
rows. `file` marks the truth as listed when its list row stands: a kill in between leaves it unmarked, and the
repeat that the dead-letter queue or the sweep brings completes it. `decide` adds to the new list before it
takes from the old one, so that no kill hides a case; of several decisions for the same state the first is
kept, and the others only complete its lists. One partition a state is enough: the service takes 2,000
writes a second in it, and cases come from people-sized failures, not from every message.
"""

import asyncio
from dataclasses import replace

from shared.adapters.case_keys import list_key, matches
from shared.adapters.connections import Connections
from shared.adapters.cursors import from_cursor, to_cursor
from shared.adapters.limits import check_key, entity_size, key_is_valid
from shared.adapters.tables import Columns, Found, Table
from shared.deadletters.ports import Case, CaseFilter, CasePage, CaseState
from shared.errors import StorageUnavailable
from shared.ports import Randomness
from shared.records import RecordUnreadable, from_text, to_text

_TRIES = 10
_PAUSE_SECONDS = 0.05
_SCANNED = 1000  # rows read for one page, whatever the filter
_LAST_RELEASE = 9_999_999_999
_LATEST = "PartitionKey eq @job and RowKey ge 'case:' and RowKey lt 'case;'"
_AFTER = "PartitionKey eq @list and RowKey gt @after"


class CasesTable:
    """CaseStore over the table `cases`."""

    def __init__(self, connections: Connections, randomness: Randomness, table: str = "cases") -> None:
        self._randomness = randomness
        self._table = Table(connections, table)

    async def file(self, case: Case) -> bool:
        check_key(case.job_id, "the job id")
        if case.state is not CaseState.OPEN:
            raise ValueError("A case is filed open.")
        etag = await self._table.create(_truth(case, listed=False))
        if etag is not None:
            await self._list(case, etag)
            return True
        found = await self._table.get(case.job_id, _truth_key(case.release))
        if found is not None and found.columns.get("listed") is not True:
            await self._list(_case(found), found.etag)
        return False

    async def get(self, job_id: str, release: int | None = None) -> Case | None:
        if not key_is_valid(job_id):
            return None
        if release is None:
            latest = await self._table.query(_LATEST, {"job": job_id}, size=1).next()
            return _case(latest[0]) if latest else None
        found = await self._table.get(job_id, _truth_key(release))
        return None if found is None else _case(found)

    async def decide(self, case: Case) -> None:
        check_key(case.job_id, "the job id")
        if case.state is CaseState.OPEN:
            raise ValueError("A decided case is closed or resubmitted.")
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(self._randomness.fraction() * _PAUSE_SECONDS * attempt)
            found = await self._table.get(case.job_id, _truth_key(case.release))
            if found is None:
                await self._table.create(_truth(replace(case, state=CaseState.OPEN), listed=False))
                continue
            before = _case(found)
            if before.state is case.state:
                await self._relist(before)
                return
            decided = replace(case, dead_at=before.dead_at)  # its place in the lists
            await self._table.put(_listed(decided))
            if await self._table.merge(_truth(decided, listed=True), etag=found.etag):
                for state in {CaseState.OPEN, before.state} - {case.state}:
                    await self._unlist(replace(decided, state=state))
                return
        raise StorageUnavailable("A case changed again and again while it was decided.")

    async def page(self, wanted: CaseFilter, *, limit: int, cursor: str | None) -> CasePage:
        after = "" if cursor is None else from_cursor(wanted.state, cursor)
        if limit < 1:
            raise ValueError("A page has at least one case.")
        filtered = (wanted.category, wanted.task_type, wanted.fingerprint) != (None, None, None)
        size = min(_SCANNED, max(200, limit + 1) if filtered else limit + 1)
        pages = self._table.query(_AFTER, {"list": _list_name(wanted.state), "after": after}, size=size)
        cases: list[Case] = []
        scanned = 0
        while pages.more and scanned < _SCANNED:
            for found in await pages.next():
                if len(cases) == limit:
                    return CasePage(cases=tuple(cases), cursor=to_cursor(wanted.state, after))
                scanned += 1
                after = str(found.columns["RowKey"])
                case = _case(found)
                if matches(wanted, case):
                    cases.append(case)
        more = pages.more and after
        return CasePage(cases=tuple(cases), cursor=to_cursor(wanted.state, after) if more else None)

    async def _list(self, case: Case, etag: str) -> None:
        """Give the truth its list row, and take it back if the case was decided at the same moment."""
        await self._table.put(_listed(case))
        if await self._table.merge(_truth(case, listed=True), etag=etag):
            return
        now = await self._table.get(case.job_id, _truth_key(case.release))
        if now is not None and _case(now).state is not case.state:
            await self._unlist(case)

    async def _relist(self, decided: Case) -> None:
        """Complete the lists of a decision that stands, whoever made it and wherever it stopped."""
        await self._table.put(_listed(decided))
        await self._unlist(replace(decided, state=CaseState.OPEN))

    async def _unlist(self, case: Case) -> None:
        await self._table.delete(_list_name(case.state), list_key(case))


def _truth_key(release: int) -> str:
    return f"case:{_LAST_RELEASE - release:010d}"


def _list_name(state: CaseState) -> str:
    return f"list:{state.value}"


def _truth(case: Case, *, listed: bool) -> Columns:
    return _checked(case, case.job_id, _truth_key(case.release)) | {"listed": listed}


def _listed(case: Case) -> Columns:
    return _checked(case, _list_name(case.state), list_key(case))


def _checked(case: Case, partition: str, row: str) -> dict[str, str | int]:
    columns: dict[str, str | int] = {
        "PartitionKey": partition,
        "RowKey": check_key(row, "the place of a case"),
        "record": to_text(case),
        "state": case.state.value,
        "category": case.category.value,
        "task_type": case.task_type,
        "code": case.code,
        "fingerprint": case.fingerprint,
    }
    entity_size(columns)
    return columns


def _case(found: Found) -> Case:
    record = found.columns.get("record")
    if not isinstance(record, str):
        raise RecordUnreadable("A stored case has no record.")
    return from_text(Case, record)
