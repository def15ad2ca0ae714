"""Protocols that are broken on purpose: the adversary must find each within a few traces.

Each plan is aimed at what the variant breaks, so that the seeds from zero on find it soon.
"""

from collections.abc import Callable
from dataclasses import replace
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
from tests.support.protocol.checks import Broken
from tests.support.protocol.gates import current
from tests.support.protocol.plan import Plan
from tests.support.protocol.simulation import simulate

TRIES = 150
QUIET = Plan(
    events=1,
    kills=0.0,
    outages=0.0,
    expiries=0.0,
    cancels=0.0,
    frozen=0.0,
    effects=0.0,
    told=0.0,
    reviewed=0.0,
    resting=0.0,
    budgets=0.0,
    tenants=0.0,
    timed=0.0,
    aim=0.5,
)
"""One job, and an adversary that only delivers and waits. A variant's plan adds what it needs."""
NO_SAFETY_NET = replace(QUIET, sweeps=0.0, operators=0.0)


def tries_until_caught(promise: str, plan: Plan) -> int:
    """How many traces it takes until one breaks this promise, first or among others."""
    for seed in range(TRIES):
        try:
            simulate(seed, plan)
        except Broken as broken:
            if promise in str(broken).splitlines()[0]:
                return seed + 1
    pytest.fail(f"not caught in {TRIES} traces")


def test_a_turn_written_before_its_send_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
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

    monkeypatch.setattr(outcomes, "_turn", turn)
    points = frozenset({Point.WORKER_AFTER_TURN_WRITTEN})
    tries_until_caught("is left", replace(NO_SAFETY_NET, failures=0.9, kill_at=points))


def test_a_nudge_without_a_suffix_of_its_own_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FakeBus.send

    async def send_without_suffix(
        self: FakeBus, message: JobMessage, *, at: datetime | None = None, suffix: str | None = None
    ) -> None:
        await real(self, message, at=at)

    monkeypatch.setattr(FakeBus, "send", send_without_suffix)
    tries_until_caught("is left", replace(NO_SAFETY_NET, frozen=0.1, outages=0.1))


def test_a_commit_without_the_claim_check_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
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

    monkeypatch.setattr(claims, "commit_under_claim", commit)
    tries_until_caught("under another's claim", replace(QUIET, failures=0.9, frozen=0.15, time=0.06))


def test_an_intent_that_neither_claim_nor_clock_guards_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
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

    monkeypatch.setattr(Ledger, "_write", write)
    monkeypatch.setattr(Ledger, "_call", call)
    points = frozenset({Point.EFFECT_BEFORE_INTENT, Point.EFFECT_AFTER_INTENT})
    plan = replace(QUIET, effects=1.0, faults=0.0, void=0.0, waits=0.0, freeze_at=points)
    tries_until_caught("happened 2 times", plan)


def test_removing_the_open_row_of_another_release_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FakeOpenIndex.remove

    async def remove(self: FakeOpenIndex, job_id: str, release: int, *, version: str | None = None) -> None:
        for other in range(release + 3):
            await real(self, job_id, other, version=version)

    monkeypatch.setattr(FakeOpenIndex, "remove", remove)
    points = frozenset({Point.CASE_AFTER_JOB_MARKED})
    plan = replace(QUIET, failures=0.9, operators=0.2, closes=0.0, freeze_at=points)
    tries_until_caught("without an open row", plan)


def test_a_close_guarded_by_its_own_releases_row_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real_put = FakeOpenIndex.put

    async def put(self: FakeOpenIndex, job_id: str, release: int) -> None:
        running = current()
        closing = running is not None and running.kind == "close"
        await real_put(self, job_id, release - 1 if closing else release)

    async def tidy(services: Services, job: Job, release: int) -> None:
        await tidy_really(services, job, release - 1)

    monkeypatch.setattr(FakeOpenIndex, "put", put)
    monkeypatch.setattr(close_module, "tidy", tidy)
    plan = replace(
        QUIET,
        failures=1.0,
        operators=0.1,
        closes=1.0,
        sweeps=0.002,
        time=0.01,
        kill_at=frozenset({Point.CLOSE_AFTER_BATCH}),
        freeze_at=frozenset({Point.CASE_AFTER_JOB_MARKED}),
    )
    tries_until_caught("listed as open", plan)
