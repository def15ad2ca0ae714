"""What a trace came to: events that had an effect, and where functions were killed.

A test that draws its moves may draw for hours past what it was written for; this counts that it does not.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from shared.effects.records import EffectState, read_effect
from shared.jobs import Category, Job, JobState
from shared.ports import Row, RowKind
from tests.support.outside import FINDABLE, KEYED
from tests.support.protocol.broker import Held
from tests.support.protocol.gates import Invocation, current


class Event(StrEnum):
    """What can happen to a job, as it is stored in the end."""

    SUCCEEDED = "succeeded"
    RETRIED = "retried"
    PUT_OFF = "put off"
    POLLED_IN_VAIN = "a poll's answer: not yet"
    POLLED_READY = "a poll's answer: ready"
    UNKNOWN = "an outcome is unknown"
    FOUND = "asked: it was carried out"
    NOT_FOUND = "asked: it was not carried out"
    REPEATED = "repeated under its key"
    FOR_A_PERSON = "dead with an unknown outcome"
    RECONCILED_DONE = "reconciled as done"
    RECONCILED_NOT_DONE = "reconciled as not done"
    DISPROVED = "carried out in vain"
    RESUBMITTED = "resubmitted"
    CLOSED = "closed"
    CANCELLED_WAITING = "cancelled while it waits"
    CANCEL_ASKED_OF_A_RUN = "asked to cancel while it runs"
    CANCEL_ASKED_OF_UNKNOWN = "asked to cancel with an unknown outcome"
    CANCELLED_RUNNING = "cancelled by its worker"
    APPROVED = "approved"
    REJECTED = "rejected"
    OVER_BUDGET = "over its budget"
    LEASE_EXPIRED_IN_EFFECT = "claimed anew in the middle of an effect"
    OUTRUN = "claimed anew while the worker before lives"
    RECORDED_LATE = "recorded by a worker that lost its claim"
    CALLED_BACK = "called back"
    TWO_COPIES = "a second copy of a message is delivered"
    REDELIVERED = "a message is delivered again"


class Reach:
    """Counts `events`, and the `kills` by the gate that held the function."""

    def __init__(self) -> None:
        self.events: Counter[Event] = Counter()
        self.kills: Counter[str] = Counter()
        self._intending: dict[tuple[str, str], Invocation | None] = {}
        self._holders: dict[str, Invocation | None] = {}
        self._bodies: set[bytes] = set()

    def delivered(self, message: Held) -> None:
        """A worker gets the message."""
        if message.deliveries > 1:
            self.events[Event.REDELIVERED] += 1
        elif message.body in self._bodies:
            self.events[Event.TWO_COPIES] += 1
        self._bodies.add(message.body)

    def after(self, name: str, args: tuple[Any, ...]) -> None:
        """Port method `name` was called with `args` and has taken effect."""
        if name == "jobs.commit":
            old, new, rows = args[0].job, args[1], args[2] if len(args) > 2 else ()
            self.events.update(_moves(old, new))
            self._claimed(old, new)
            self._rows(new.job_id, rows)
        if name == "jobs.add_row":
            late = args[1].kind is RowKind.EFFECT and read_effect(args[1]).late
            self.events[Event.RECORDED_LATE] += late

    def _claimed(self, old: Job, new: Job) -> None:
        if new.claim == old.claim or new.state is not JobState.RUNNING:
            return
        before, self._holders[new.job_id] = self._holders.get(new.job_id), current()
        if old.state is JobState.RUNNING:
            self.events[Event.LEASE_EXPIRED_IN_EFFECT] += bool(old.open_effects)
            self.events[Event.OUTRUN] += before is not None and not (before.killed or before.done)

    def _rows(self, job_id: str, rows: Sequence[Row]) -> None:
        for row in rows:
            if row.kind is RowKind.EFFECT:
                self._effect(job_id, row)
            if row.kind is RowKind.DECISION:
                self.events.update(_decided(row))
            if row.kind is RowKind.TIMELINE:
                self.events[Event.CALLED_BACK] += row.data["event"] == "called_back"

    def _effect(self, job_id: str, row: Row) -> None:
        record, place = read_effect(row), (job_id, row.key)
        if record.state is EffectState.INTENDED:
            self._intending.setdefault(place, current())
        mine = self._intending.get(place) is current()
        match record.state:
            case EffectState.DONE if not mine and record.operator is None:
                kind = {FINDABLE.action: Event.FOUND, KEYED.action: Event.REPEATED}.get(record.action)
                self.events.update([kind] if kind else [])
            case EffectState.NOT_EXECUTED if record.code == "not_found":
                self.events[Event.NOT_FOUND] += 1
            case EffectState.FAILED if record.operator is None:
                self.events[Event.DISPROVED] += 1


def _moves(old: Job, new: Job) -> list[Event]:
    events = []
    if new.put_offs > old.put_offs:
        events.append(Event.PUT_OFF)
    elif new.cancel_requested and not old.cancel_requested:
        running = old.state is JobState.RUNNING
        events.append(Event.CANCEL_ASKED_OF_A_RUN if running else Event.CANCEL_ASKED_OF_UNKNOWN)
    elif new.state is not old.state:
        events += _left(old, new)
    if old.state is JobState.RUNNING and old.waits and not old.open_effects and new.claim == old.claim:
        events += _polled(old, new)
    return events


def _left(old: Job, new: Job) -> list[Event]:
    match new.state:
        case JobState.SUCCEEDED:
            return [Event.SUCCEEDED]
        case JobState.RETRY_SCHEDULED if new.attempt > old.attempt:
            return [Event.RETRIED]
        case JobState.OUTCOME_UNKNOWN if new.waits:
            return [Event.UNKNOWN]
        case JobState.CANCELLED:
            running = old.state is JobState.RUNNING
            return [Event.CANCELLED_RUNNING if running else Event.CANCELLED_WAITING]
        case JobState.DEAD:
            category = new.failure.category if new.failure else None
            kinds = {Category.RECONCILE: Event.FOR_A_PERSON, Category.BUDGET: Event.OVER_BUDGET}
            return [kinds[category]] if category in kinds else []
        case _:
            return []


def _polled(old: Job, new: Job) -> list[Event]:
    if new.state is JobState.AWAITING_RESULT and new.waits > old.waits:
        return [Event.POLLED_IN_VAIN]
    went_on = new.state is JobState.RUNNING and not new.waits
    return [Event.POLLED_READY] if went_on or new.state is JobState.SUCCEEDED else []


def _decided(row: Row) -> list[Event]:
    match row.data["action"]:
        case "reconcile":
            done = row.data["outcome"] == "done"
            return [Event.RECONCILED_DONE if done else Event.RECONCILED_NOT_DONE]
        case "resubmit":
            return [Event.RESUBMITTED]
        case "close":
            return [Event.CLOSED]
        case "approve":
            return [Event.APPROVED]
        case "reject":
            return [Event.REJECTED]
        case _:
            return []
