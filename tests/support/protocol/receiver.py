"""The receiver of a trace's announcements: it fails at times, and knows what it was told."""

from collections import Counter
from collections.abc import Callable

from shared.jobs import Job
from shared.notify.announcement import Announcement, OutboxState
from shared.notify.notifier import Attempt, NoRoom, NotTold, Told
from shared.notify.outbox import WITHHELD
from shared.pipeline.policies import NotifyPolicy
from tests.support.protocol.chance import Chance
from tests.support.protocol.gates import Invocation, Verdict, current, pass_gate

_FAILURES: tuple[Attempt, ...] = (
    NotTold(code="receiver_failed"),
    NotTold(code="no_answer"),
    NoRoom(),
    NotTold(code="receiver_gone", for_good=True),
)


class ModelReceiver:
    """Implements `Notifier`. What it took once it may be told again only where the answer did not last:
    it was lost, its function died, or two functions told it at the same time."""

    def __init__(
        self, chance: Chance, faults: float, job: Callable[[str], Job], started: Callable[[], int]
    ) -> None:
        self._chance = chance
        self._faults = faults
        self._job = job
        self._started = started
        self._tellers: dict[str, list[Invocation]] = {}
        self._settled: dict[str, int] = {}  # by id: how many functions had been started then
        self._excused: set[str] = set()
        self.calm = False
        self.taken: Counter[str] = Counter()
        self.problems: list[str] = []

    async def tell(self, source: str, policy: NotifyPolicy, announcement: Announcement) -> Attempt:
        name, job = announcement.webhook_id, self._job(str(announcement.data["job_id"]))
        if announcement.kind == "job.succeeded" and job.review in WITHHELD:
            self.problems.append(f"{name} was told before its review")
        self._expect(name)
        if not self.calm and self._chance.random() < self._faults:
            return self._chance.choice(_FAILURES)
        self.taken[name] += 1
        if await pass_gate("after telling", fallible=True) is not Verdict.GO:
            self._excused.add(name)
            return NotTold(code="no_answer")
        return Told()

    def settled(self, announcement: Announcement) -> None:
        """The application has written down how far it came."""
        if announcement.state is OutboxState.DELIVERED:
            self._settled[announcement.webhook_id] = self._started()

    def _expect(self, name: str) -> None:
        teller = current()
        assert teller is not None
        others = self._tellers.setdefault(name, [])
        overlapping = teller.number <= self._settled.get(name, 0)
        if overlapping or any(not other.done for other in others):
            self._excused.add(name)
        if self.taken[name] and name not in self._excused and name in self._settled:
            self.problems.append(f"{name} was told again although it was known to be delivered")
        others.append(teller)
