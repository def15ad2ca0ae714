"""All that the use cases are given: the ports, the policies and the names they write down."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from shared.deadletters.ports import AlertSink, CaseStore, GroupStore
from shared.jobs import Job
from shared.limits.breakers import Breakers
from shared.limits.ports import BudgetStore, SlotStore
from shared.notify.notifier import Notifier
from shared.pending_reviews import PendingReviews
from shared.pipeline import Pipeline
from shared.ports import (
    AccessPolicy,
    BlobStore,
    Clock,
    JobStore,
    MessageBus,
    OpenIndex,
    Randomness,
    Row,
    RowKind,
    Telemetry,
)
from shared.retention.ports import RetentionIndex
from shared.settings import Settings
from shared.tasks.base import Task
from shared.webhooks.large_bodies import LargeBodies


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    settings: Settings
    pipeline: Pipeline
    jobs: JobStore
    open_index: OpenIndex
    cases: CaseStore
    groups: GroupStore
    blobs: BlobStore
    retention: RetentionIndex
    reviews: PendingReviews
    bus: MessageBus
    alerts: AlertSink
    notifier: Notifier
    breakers: Breakers
    budgets: BudgetStore
    slots: SlotStore
    telemetry: Telemetry
    clock: Clock
    randomness: Randomness
    access: AccessPolicy
    tasks: Mapping[str, Task]
    worker: str
    app_version: str
    large_bodies: LargeBodies = field(default_factory=LargeBodies)

    def timeline(
        self,
        job: Job,
        event: str,
        *,
        at: datetime | None = None,
        code: str | None = None,
        note: str | None = None,
    ) -> Row:
        """A timeline row: its key sorts by time and is unique, so rows never overwrite each other."""
        moment = at or self.clock.now()
        key = f"{moment:%Y%m%dT%H%M%S.%f}-{self.randomness.token()[:8]}"
        data = {"at": moment.isoformat(), "event": event, "release": job.release, "attempt": job.attempt}
        more = {name: value for name, value in (("code", code), ("note", note)) if value is not None}
        return Row(kind=RowKind.TIMELINE, key=key, data=data | more)
