"""The open index in memory."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime

from shared.adapters.limits import check_key
from shared.ports import Clock, OpenEntry
from shared.records import from_text, to_text
from tests.support.fakes.faults import Faults


class FakeOpenIndex(Faults):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._versions = 0
        self._entries: dict[tuple[str, int], str] = {}

    async def put(self, job_id: str, release: int) -> None:
        check_key(job_id, "the job id")
        async with self._call("put"):
            self._write(OpenEntry(job_id=job_id, release=release, written_at=self._clock.now(), version=""))

    async def remove(self, job_id: str, release: int, *, version: str | None = None) -> None:
        async with self._call("remove"):
            entry = self._read((job_id, release))
            if entry is not None and version in (None, entry.version):
                del self._entries[job_id, release]

    async def entries(self) -> AsyncIterator[OpenEntry]:
        async with self._call("entries"):
            keys = list(self._entries)
        for key in keys:
            entry = self._read(key)
            if entry is not None:
                yield entry

    async def note_nudge(self, entry: OpenEntry, at: datetime) -> None:
        async with self._call("note_nudge"):
            present = self._read((entry.job_id, entry.release))
            if present is not None and present.version == entry.version:
                now = self._clock.now()
                self._write(replace(present, nudges=entry.nudges + 1, nudged_at=at, written_at=now))

    def keys(self) -> set[tuple[str, int]]:
        """Every (job id, release) that is open, for assertions."""
        return set(self._entries)

    def _write(self, entry: OpenEntry) -> None:
        self._versions += 1
        stored = replace(entry, version=str(self._versions))
        self._entries[entry.job_id, entry.release] = to_text(stored)

    def _read(self, key: tuple[str, int]) -> OpenEntry | None:
        text = self._entries.get(key)
        return None if text is None else from_text(OpenEntry, text)
