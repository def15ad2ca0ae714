"""The group store in memory."""

from dataclasses import replace

from shared.adapters.limits import check_key
from shared.deadletters.ports import Case, Group
from shared.records import from_text, to_text
from tests.support.fakes.faults import Faults


class FakeGroupStore(Faults):
    def __init__(self) -> None:
        super().__init__()
        self._groups: dict[str, str] = {}
        self._members: set[tuple[str, str, int]] = set()

    async def add(self, case: Case) -> Group:
        check_key(case.fingerprint, "the fingerprint")
        async with self._call("add"):
            group = self.group(case.fingerprint) or _empty(case)
            member = (case.fingerprint, case.job_id, case.release)
            if member not in self._members:
                self._members.add(member)
                first = min(group.first_seen, case.dead_at)
                group = replace(group, count=group.count + 1, first_seen=first)
                self._groups[case.fingerprint] = to_text(group)
        return group

    async def mark_alerted(self, fingerprint: str) -> None:
        async with self._call("mark_alerted"):
            group = self.group(fingerprint)
            if group is not None:
                self._groups[fingerprint] = to_text(replace(group, alerted=True))

    async def unalerted(self) -> list[Group]:
        async with self._call("unalerted"):
            groups = [from_text(Group, text) for text in self._groups.values()]
            return [group for group in groups if not group.alerted]

    def group(self, fingerprint: str) -> Group | None:
        """The stored group, for assertions."""
        text = self._groups.get(fingerprint)
        return None if text is None else from_text(Group, text)


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
