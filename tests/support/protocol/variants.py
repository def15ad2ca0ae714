"""Protocols that are broken on purpose: what the tests must find."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from shared.deadletters import close as close_module
from shared.effects.contract import Done, EffectContract
from shared.effects.ledger import Ledger
from shared.effects.records import EffectRecord, EffectState, effect_row
from shared.errors import Conflict
from shared.failpoints import Point, reach
from shared.finishing import tidy as tidy_really
from shared.jobs import Job, JobState
from shared.messages import JobMessage
from shared.nudges import hold_while_bus_is_away
from shared.ports import Snapshot
from shared.services import Services
from shared.worker import claims, outcomes
from shared.worker.claims import Claim
from tests.support.fakes import FakeBus, FakeOpenIndex
from tests.support.protocol.gates import current


def turn_before_send(patch: pytest.MonkeyPatch) -> None:
    """A turn is written before its message is sent."""

    async def turn(claim: Claim, wanted: outcomes.Turn) -> None:
        services, job, now = claim.services, claim.job, claim.services.clock.now()

        def change(current: Job) -> Job:
            return current.moved(
                wanted.state,
                now,
                turn=job.turn + 1,
                attempt=wanted.attempt,
                lease=None,
                not_before=wanted.at,
                waits=wanted.waits,
            )

        await claim.commit(change)
        await reach(Point.WORKER_AFTER_TURN_WRITTEN)
        message = JobMessage.for_job(job, turn=job.turn + 1, attempt=wanted.attempt)
        await hold_while_bus_is_away(services, lambda: services.bus.send(message, at=wanted.at))

    patch.setattr(outcomes, "_turn", turn)


def nudge_without_suffix(patch: pytest.MonkeyPatch) -> None:
    """A nudge has no id of its own, so that the broker may drop it."""
    real = FakeBus.send

    async def send(
        self: FakeBus, message: JobMessage, *, at: datetime | None = None, suffix: str | None = None
    ) -> None:
        await real(self, message, at=at)

    patch.setattr(FakeBus, "send", send)


def commit_without_claim_check(patch: pytest.MonkeyPatch) -> None:
    """A worker writes its outcome whoever holds the job by now."""

    async def commit(
        services: Services, claimed: Snapshot, change: Callable[[Job], Job], rows: Any, until: datetime
    ) -> Snapshot | None:
        current = claimed
        while True:
            try:
                return await services.jobs.commit(current, change(current.job), rows)
            except Conflict:
                reread = await services.jobs.load(claimed.job.job_id)
            if reread is None or reread.job.state is not JobState.RUNNING:
                return None
            current = reread

    patch.setattr(claims, "commit_under_claim", commit)


def unguarded_intent(patch: pytest.MonkeyPatch) -> None:
    """Neither the claim nor the clock guards what is sent after an intent."""
    real = Ledger._write

    async def write(self: Ledger, contract: EffectContract, record: EffectRecord) -> None:
        if record.state is not EffectState.INTENDED:
            await real(self, contract, record)
            return
        services, job_id = self._claim.services, self._claim.job.job_id
        await services.jobs.add_row(job_id, effect_row(record))

    async def call(_: Ledger, wanted: Any, intent: EffectRecord) -> Done:
        done: Done = await wanted.call.send(intent.key)
        return done

    patch.setattr(Ledger, "_write", write)
    patch.setattr(Ledger, "_call", call)


def open_row_of_another_release(patch: pytest.MonkeyPatch) -> None:
    """The open row is removed for other releases as well."""
    real = FakeOpenIndex.remove

    async def remove(self: FakeOpenIndex, job_id: str, release: int, *, version: str | None = None) -> None:
        for other in range(release + 3):
            await real(self, job_id, other, version=version)

    patch.setattr(FakeOpenIndex, "remove", remove)


def close_under_another_row(patch: pytest.MonkeyPatch) -> None:
    """A close is guarded by the row of its own release, which others remove."""
    real = FakeOpenIndex.put

    async def put(self: FakeOpenIndex, job_id: str, release: int) -> None:
        running = current()
        closing = running is not None and running.kind == "close"
        await real(self, job_id, release - 1 if closing else release)

    async def tidy(services: Services, job: Job, release: int) -> None:
        await tidy_really(services, job, release - 1)

    patch.setattr(FakeOpenIndex, "put", put)
    patch.setattr(close_module, "tidy", tidy)


def release_without_open_row(patch: pytest.MonkeyPatch) -> None:
    """Only the first release has an open row."""
    real = FakeOpenIndex.put

    async def put(self: FakeOpenIndex, job_id: str, release: int) -> None:
        if release == 0:
            await real(self, job_id, release)

    patch.setattr(FakeOpenIndex, "put", put)


@dataclass(frozen=True, slots=True)
class Variant:
    """How it breaks the protocol, and what breaks then."""

    apply: Callable[[pytest.MonkeyPatch], None]
    promise: str
    seed: int  # with which the state machine comes to it soon
    swept: bool = True  # whether it shows although the sweep makes good what messages lost


VARIANTS = {
    "turn_before_send": Variant(turn_before_send, "is left", seed=1, swept=False),
    "nudge_without_suffix": Variant(nudge_without_suffix, "is left", seed=0, swept=False),
    "commit_without_claim_check": Variant(commit_without_claim_check, "under another's claim", seed=1),
    "unguarded_intent": Variant(unguarded_intent, "happened 2 times", seed=11),
    "open_row_of_another_release": Variant(open_row_of_another_release, "without an open row", seed=0),
    "close_under_another_row": Variant(close_under_another_row, "listed as open", seed=17),
    "release_without_open_row": Variant(release_without_open_row, "without an open row", seed=0),
}
