"""All the fakes of one test, sharing a clock."""

from dataclasses import dataclass, field

from tests.support.fakes.alerts import FakeAlertSink
from tests.support.fakes.blobs import FakeBlobStore
from tests.support.fakes.bus import FakeBus
from tests.support.fakes.cases import FakeCaseStore
from tests.support.fakes.faults import Faults
from tests.support.fakes.groups import FakeGroupStore
from tests.support.fakes.jobs import FakeJobStore
from tests.support.fakes.limits import FakeBreakerStore, FakeBudgetStore, FakeSlotStore
from tests.support.fakes.notifier import FakeNotifier
from tests.support.fakes.openindex import FakeOpenIndex
from tests.support.fakes.retention import FakeRetentionIndex
from tests.support.fakes.reviews import FakePendingReviews
from tests.support.fakes.telemetry import FakeTelemetry
from tests.support.fakes.time import FakeClock, FakeRandomness


@dataclass(slots=True)
class World:
    """`World()` is ready to use; latencies pass on its clock."""

    clock: FakeClock = field(default_factory=FakeClock)
    randomness: FakeRandomness = field(default_factory=FakeRandomness)
    jobs: FakeJobStore = field(init=False)
    open: FakeOpenIndex = field(init=False)
    cases: FakeCaseStore = field(default_factory=FakeCaseStore)
    groups: FakeGroupStore = field(default_factory=FakeGroupStore)
    blobs: FakeBlobStore = field(default_factory=FakeBlobStore)
    retention: FakeRetentionIndex = field(default_factory=FakeRetentionIndex)
    reviews: FakePendingReviews = field(default_factory=FakePendingReviews)
    breakers: FakeBreakerStore = field(default_factory=FakeBreakerStore)
    budgets: FakeBudgetStore = field(default_factory=FakeBudgetStore)
    slots: FakeSlotStore = field(default_factory=FakeSlotStore)
    bus: FakeBus = field(init=False)
    alerts: FakeAlertSink = field(default_factory=FakeAlertSink)
    notifier: FakeNotifier = field(default_factory=FakeNotifier)
    telemetry: FakeTelemetry = field(default_factory=FakeTelemetry)

    def __post_init__(self) -> None:
        self.jobs = FakeJobStore(self.clock)
        self.open = FakeOpenIndex(self.clock)
        self.bus = FakeBus(self.clock)
        for fake in (*self.storage(), self.bus, self.alerts):
            fake.sleep = self.clock.sleep

    def storage(self) -> tuple[Faults, ...]:
        """The fakes that lie in the storage account."""
        lists = (self.open, self.cases, self.groups, self.retention, self.reviews)
        return (self.jobs, *lists, self.blobs, *self.limits())

    def limits(self) -> tuple[Faults, ...]:
        """Those of the limits."""
        return (self.breakers, self.budgets, self.slots)

    def storage_down(self, down: bool = True) -> None:
        """Take the whole storage account away, or bring it back."""
        for fake in self.storage():
            fake.down = down
