"""The group store: how often each kind of failure happened, each (job, release) counted once.

    head      PartitionKey = fingerprint       RowKey = head
    member    PartitionKey = fingerprint       RowKey = member:{job id}:{release}    its presence is the count
    waiting   PartitionKey = index:unalerted   RowKey = fingerprint

Member and head change in one transaction. The waiting row stands before the head does and goes after the head
says `alerted`, so a group without a confirmed alert always has one.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shared.adapters.connections import Connections
from shared.adapters.guard import Answered
from shared.adapters.limits import check_key, entity_size, key_is_valid
from shared.adapters.tables import Change, Found, Table
from shared.deadletters.ports import Case, Group
from shared.errors import StorageUnavailable
from shared.ports import Randomness
from shared.records import RecordUnreadable, from_text, to_text

HEAD = "head"
_WAITING = "index:unalerted"
_TRIES = 40
_PAUSE_SECONDS = 0.05
_MOST_WAITING = 1000


class GroupsTable:
    """GroupStore over the table `groups`."""

    def __init__(self, connections: Connections, randomness: Randomness, table: str = "groups") -> None:
        self._table = Table(connections, table)
        self._randomness = randomness

    async def add(self, case: Case) -> Group:
        check_key(case.fingerprint, "the fingerprint")
        member = _member(case)
        for attempt in range(_TRIES):
            head = await self._table.get(case.fingerprint, HEAD)
            if head is None:
                await self._table.put({"PartitionKey": _WAITING, "RowKey": case.fingerprint})
            group = _counted(_empty(case) if head is None else _group(head), case)
            change = Change(columns=_head(group), create=head is None, etag=head.etag if head else None)
            try:
                await self._table.transact([change, Change(columns=member, create=True)])
            except Answered:
                counted = await self._if_counted(case, member)
                if counted is not None:
                    return counted
                await asyncio.sleep(self._randomness.fraction() * _PAUSE_SECONDS * min(attempt + 1, 10))
            else:
                return group
        raise StorageUnavailable("A group of failures changed again and again while a case was counted.")

    async def mark_alerted(self, fingerprint: str) -> None:
        if not key_is_valid(fingerprint):
            return
        for _ in range(_TRIES):
            head = await self._table.get(fingerprint, HEAD)
            if head is None:
                return
            if await self._table.merge(_head(replace(_group(head), alerted=True)), etag=head.etag):
                break
        else:
            raise StorageUnavailable("A group of failures changed again and again while it was marked.")
        await self._table.delete(_WAITING, fingerprint)

    async def unalerted(self) -> list[Group]:
        pages = self._table.query("PartitionKey eq @waiting", {"waiting": _WAITING}, size=_MOST_WAITING)
        groups: list[Group] = []
        while pages.more and len(groups) < _MOST_WAITING:
            for waiting in await pages.next():
                fingerprint = str(waiting.columns["RowKey"])
                head = await self._table.get(fingerprint, HEAD)
                if head is None:
                    continue  # its first case is being counted, or will be again
                group = _group(head)
                if group.alerted:
                    await self._table.delete(_WAITING, fingerprint, etag=waiting.etag)
                else:
                    groups.append(group)
        return groups

    async def _if_counted(self, case: Case, member: Mapping[str, str]) -> Group | None:
        """The group if the case is counted in it: by an earlier call, or by this very one."""
        if await self._table.get(case.fingerprint, member["RowKey"]) is None:
            return None
        head = await self._table.get(case.fingerprint, HEAD)
        return None if head is None else _group(head)


def _member(case: Case) -> dict[str, str]:
    row = check_key(f"member:{case.job_id}:{case.release}", "the member of a group")
    return {"PartitionKey": case.fingerprint, "RowKey": row}


def _empty(case: Case) -> Group:
    return Group(
        fingerprint=case.fingerprint,
        task_type=case.task_type,
        code=case.code,
        category=case.category,
        count=0,
        first_seen=case.dead_at,
        alerted=False,
    )


def _counted(group: Group, case: Case) -> Group:
    return replace(group, count=group.count + 1, first_seen=min(group.first_seen, case.dead_at))


def _head(group: Group) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "PartitionKey": group.fingerprint,
        "RowKey": HEAD,
        "record": to_text(group),
        "count": group.count,
        "alerted": group.alerted,
    }
    entity_size(columns)
    return columns


def _group(head: Found) -> Group:
    record = head.columns.get("record")
    if not isinstance(record, str):
        raise RecordUnreadable("A stored group has no record.")
    return from_text(Group, record)
