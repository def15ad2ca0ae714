"""The storage ports of one test, and the real adapters for them."""

from dataclasses import dataclass

from shared.adapters.blobs import Blobs
from shared.adapters.breakers_table import BreakersTable
from shared.adapters.budgets_table import BudgetsTable
from shared.adapters.cases_table import CasesTable
from shared.adapters.clock import SystemRandomness
from shared.adapters.connections import Connections
from shared.adapters.groups_table import GroupsTable
from shared.adapters.jobs_table import JobsTable
from shared.adapters.open_table import OpenTable
from shared.adapters.retention_table import RetentionTable
from shared.adapters.reviews_table import ReviewsTable
from shared.adapters.slots_table import SlotsTable
from shared.deadletters.ports import CaseStore, GroupStore
from shared.limits.ports import BreakerStore, BudgetStore, SlotStore
from shared.pending_reviews import PendingReviews
from shared.ports import BlobStore, JobStore, OpenIndex
from shared.retention.ports import RetentionIndex


@dataclass(frozen=True, slots=True)
class Stores:
    """The storage ports, fake or real, on tables and a container of the test's own."""

    jobs: JobStore
    open: OpenIndex
    cases: CaseStore
    groups: GroupStore
    blobs: BlobStore
    retention: RetentionIndex
    reviews: PendingReviews
    breakers: BreakerStore
    budgets: BudgetStore
    slots: SlotStore
    container: str


def real_stores(connections: Connections, prefix: str) -> Stores:
    """The real adapters on tables whose names begin with `prefix`."""
    randomness = SystemRandomness()
    return Stores(
        jobs=JobsTable(connections, randomness, f"{prefix}jobs"),
        open=OpenTable(connections, f"{prefix}open", page_size=7),
        cases=CasesTable(connections, randomness, f"{prefix}cases"),
        groups=GroupsTable(connections, randomness, f"{prefix}groups"),
        blobs=Blobs(connections),
        retention=RetentionTable(connections, f"{prefix}ended", page_size=7),
        reviews=ReviewsTable(connections, f"{prefix}reviews"),
        breakers=BreakersTable(connections, randomness, f"{prefix}limits"),
        budgets=BudgetsTable(connections, f"{prefix}limits"),
        slots=SlotsTable(connections, randomness, f"{prefix}limits"),
        container=f"{prefix}blobs",
    )
