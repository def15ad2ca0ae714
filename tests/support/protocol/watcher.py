"""Looks at each write while a trace runs: what one write alone can break."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shared.effects.records import EffectRecord, EffectState, read_effect
from shared.jobs import FINAL, TRANSITIONS, Category, Job, JobState
from shared.notify.announcement import Announcement
from shared.ports import Row, RowKind
from shared.records import from_text
from tests.support.fakes import World
from tests.support.protocol.effects import ModelOutside
from tests.support.protocol.gates import Invocation, current
from tests.support.protocol.receiver import ModelReceiver


class Watcher:
    """Transitions, fencing, attempts, decisions, effects' records, and the open index.

    `attempts` is how often a task may be tried; `waited` has the runs that ended with a wait.
    """

    def __init__(
        self,
        world: World,
        outside: ModelOutside,
        receiver: ModelReceiver,
        attempts: int,
        waited: set[Invocation | None],
    ) -> None:
        self._world = world
        self._outside = outside
        self._receiver = receiver
        self._attempts = attempts
        self._waited = waited
        self._claimants: dict[tuple[str, int], object] = {}
        self._records: dict[tuple[str, str], EffectRecord] = {}
        self.jobs: dict[str, Job] = {}
        """Each job as it was written last."""
        self.accepted: set[str] = set()
        self._problems: list[str] = []

    @property
    def problems(self) -> list[str]:
        return [*self._problems, *self._outside.problems, *self._receiver.problems]

    def after(self, name: str, args: tuple[Any, ...]) -> None:
        """Port method `name` was called with `args` and has taken effect."""
        if name == "jobs.insert":
            self.jobs.setdefault(args[0].job_id, args[0])
        if name == "jobs.commit":
            self.jobs[args[1].job_id] = args[1]
            old, new, rows = args[0].job, args[1], args[2] if len(args) > 2 else ()
            self._moved(old, new)
            self._fenced(old, new)
            self._spent(old, new)
            self._decided(old, new, rows)
            self._written(new.job_id, rows, new)
        if name == "jobs.add_row":
            self._written(args[0], [args[1]], None)
        if name in {"jobs.commit", "open.remove"}:
            self._open_rows()

    def _moved(self, old: Job, new: Job) -> None:
        if new.state is not old.state:
            self._demand(new.state in TRANSITIONS[old.state], f"{old.state} became {new.state}")
        judged = replace(old, review=new.review, updated_at=new.updated_at)
        self._demand(old.state not in FINAL or new == judged, f"a {old.state} job was written again")
        self._demand((new.release, new.turn) >= (old.release, old.turn), "release or turn went back")
        self._demand(new.claim >= old.claim, "the claim went back")
        if new.state is JobState.DEAD and new.open_effects:
            category = new.failure.category if new.failure else None
            self._demand(category is Category.RECONCILE, f"dead as {category} with an open effect")

    def _fenced(self, old: Job, new: Job) -> None:
        flagged = old.cancel_requested is not new.cancel_requested
        if new.state is JobState.RUNNING and not (old.state is JobState.RUNNING and new.claim == old.claim):
            self._demand(new.claim == old.claim + 1, "a claim did not count up")
            self._claimants[new.job_id, new.claim] = current()
        elif old.state is JobState.RUNNING and new.claim == old.claim and not flagged:
            claimant = self._claimants[old.job_id, old.claim]
            self._demand(claimant is current(), "an outcome was written under another's claim")

    def _spent(self, old: Job, new: Job) -> None:
        """Attempts are bounded, and only a failed run costs one."""
        self._demand(new.attempt < self._attempts, f"attempt {new.attempt + 1} of {self._attempts}")
        if new.state is JobState.DEAD and new.failure is not None:
            self._demand(new.failure.attempts <= self._attempts, "more attempts than allowed were made")
        if new.release == old.release and new.attempt != old.attempt:
            scheduled = new.state is JobState.RETRY_SCHEDULED and new.turn == old.turn + 1
            self._demand(scheduled and new.attempt == old.attempt + 1, f"{new.state} cost an attempt")
            self._demand(current() not in self._waited, "a wait cost an attempt")

    def _decided(self, old: Job, new: Job, rows: Sequence[Row]) -> None:
        """Nobody but an operator, for a reason, takes a job out of the dead or judges a result."""
        leaves = old.state is JobState.DEAD and new.state is not JobState.DEAD
        if leaves or (old.review is not new.review and old.state in FINAL):
            kept = [row.data for row in rows if row.kind is RowKind.DECISION]
            signed = [data for data in kept if data.get("operator") and data.get("reason")]
            self._demand(bool(signed), f"{old.state} became {new.state} without a decision")

    def _written(self, job_id: str, rows: Sequence[Row], job: Job | None) -> None:
        for row in rows:
            if row.kind is RowKind.EFFECT:
                self._effect(job_id, row.key, read_effect(row), job)
            if row.kind is RowKind.OUTBOX:
                self._receiver.settled(from_text(Announcement, json.dumps(dict(row.data))))

    def _effect(self, job_id: str, key: str, record: EffectRecord, job: Job | None) -> None:
        old = self._records.get((job_id, key))
        self._records[job_id, key] = record
        if old is not None and old.state is EffectState.DONE:
            same = record.state is EffectState.DONE and record.external_id == old.external_id
            disproved = record.state is EffectState.FAILED and old.external_id in self._outside.void
            self._demand(same or disproved, f"the record of {record.key}, which is done, was overwritten")
        begun = old is None or old.state is not EffectState.INTENDED
        if record.state is EffectState.INTENDED and begun and job is not None:
            self._demand(not job.cancel_requested, f"{record.key} was begun after a cancel")
            self._demand(job.state is JobState.RUNNING, f"{record.key} was begun by a {job.state} job")

    def _open_rows(self) -> None:
        """No accepted job is without its open row before it is final or its case filed."""
        keys = self._world.open.keys()
        for job in self.jobs.values():
            listed = job.final or job.case_filed or (job.job_id, job.release) in keys
            self._demand(listed or job.job_id not in self.accepted, f"{job.state} without an open row")

    def _demand(self, condition: bool, text: str) -> None:
        if not condition:
            self._problems.append(text)
