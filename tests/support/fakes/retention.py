"""The index of ended jobs in memory."""

from collections.abc import AsyncIterator
from datetime import date

from shared.adapters.limits import check_key
from shared.records import from_text, to_text
from shared.retention.ports import EndedJob, Left
from tests.support.fakes.faults import Faults


class FakeRetentionIndex(Faults):
    def __init__(self) -> None:
        super().__init__()
        self._texts: set[str] = set()

    async def put(self, ended: EndedJob) -> None:
        check_key(ended.job_id, "the job id")
        async with self._call("put"):
            self._texts.add(to_text(ended))

    async def remove(self, ended: EndedJob) -> None:
        async with self._call("remove"):
            self._texts.discard(to_text(ended))

    async def ended_before(self, day: date, left: Left) -> AsyncIterator[EndedJob]:
        async with self._call("ended_before"):
            found = [ended for ended in self.all_ended() if ended.day < day and ended.left is left]
        for ended in found:
            yield ended

    def all_ended(self) -> list[EndedJob]:
        """Every entry, oldest day first, for assertions."""
        return sorted((from_text(EndedJob, text) for text in self._texts), key=lambda e: (e.day, e.job_id))
