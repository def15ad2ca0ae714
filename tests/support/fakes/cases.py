"""The case store in memory."""

from dataclasses import replace

from shared.adapters.case_keys import list_key, matches
from shared.adapters.cursors import from_cursor, to_cursor
from shared.adapters.limits import check_key
from shared.deadletters.ports import Case, CaseFilter, CasePage, CaseState
from shared.records import from_text, to_text
from tests.support.fakes.faults import Faults


class FakeCaseStore(Faults):
    def __init__(self) -> None:
        super().__init__()
        self._cases: dict[tuple[str, int], str] = {}

    async def file(self, case: Case) -> bool:
        check_key(case.job_id, "the job id")
        if case.state is not CaseState.OPEN:
            raise ValueError("A case is filed open.")
        async with self._call("file"):
            new = (case.job_id, case.release) not in self._cases
            if new:
                self._cases[case.job_id, case.release] = to_text(case)
        return new

    async def get(self, job_id: str, release: int | None = None) -> Case | None:
        async with self._call("get"):
            releases = [filed for filed_id, filed in self._cases if filed_id == job_id]
            wanted = max(releases, default=None) if release is None else release
            text = None if wanted is None else self._cases.get((job_id, wanted))
        return None if text is None else from_text(Case, text)

    async def decide(self, case: Case) -> None:
        check_key(case.job_id, "the job id")
        if case.state is CaseState.OPEN:
            raise ValueError("A decided case is closed or resubmitted.")
        async with self._call("decide"):
            before = self._cases.get((case.job_id, case.release))
            stored = None if before is None else from_text(Case, before)
            if stored is None or stored.state is not case.state:
                dead_at = case.dead_at if stored is None else stored.dead_at
                self._cases[case.job_id, case.release] = to_text(replace(case, dead_at=dead_at))

    async def page(self, wanted: CaseFilter, *, limit: int, cursor: str | None) -> CasePage:
        after = "" if cursor is None else from_cursor(wanted.state, cursor)
        if limit < 1:
            raise ValueError("A page has at least one case.")
        async with self._call("page"):
            found = sorted(
                (case for case in self.all_cases() if matches(wanted, case) and list_key(case) > after),
                key=list_key,
            )
        cases = tuple(found[:limit])
        more = len(found) > limit
        return CasePage(cases=cases, cursor=to_cursor(wanted.state, list_key(cases[-1])) if more else None)

    def all_cases(self) -> list[Case]:
        """Every case in any state, for assertions."""
        return [from_text(Case, text) for text in self._cases.values()]
