"""The protocol under a random adversary, and proof that the adversary would find what it is there to find."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from shared.deadletters import close as close_module
from shared.effects.contract import Done
from shared.effects.ledger import Ledger
from shared.effects.records import EffectRecord, EffectState, effect_row
from shared.errors import Conflict
from shared.failpoints import Point
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
from tests.support.protocol.simulation import Simulation, simulate

BLOCKS, BLOCK = 8, 25
NO_SAFETY_NET = Plan(sweeps=False, operators=0.0)
TRIES = 1000
AIMED_KILLS = 3


@pytest.mark.parametrize("block", range(BLOCKS))
async def test_nothing_is_lost_or_doubled_in_random_traces(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        await simulate(seed)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("block", range(60))
async def test_nothing_is_lost_or_doubled_in_thirty_thousand_traces(block: int) -> None:
    for seed in range(100_000 + block * 500, 100_000 + (block + 1) * 500):
        await simulate(seed)


@pytest.mark.parametrize("point", Point)
async def test_kills_at_each_failpoint_lose_and_double_nothing(point: Point) -> None:
    kills = 0
    for seed in range(TRIES):
        simulation = Simulation(seed, Plan(operators=0.1, expiries=0.05, kill_at=point))
        await simulation.run()
        kills += simulation.aimed_kills
        if kills >= AIMED_KILLS:
            return
    pytest.fail(f"only {kills} kills at {point}")


async def test_messages_alone_carry_a_job_to_its_end_where_no_operator_decides() -> None:
    for seed in range(60):
        await simulate(seed, NO_SAFETY_NET)


async def _assert_caught(promise: str, plan: Plan) -> None:
    """Some trace breaks this promise; others may break further ones."""
    for seed in range(TRIES):
        try:
            await simulate(seed, plan)
        except Broken as broken:
            if promise in str(broken).splitlines()[0]:
                return
    pytest.fail(f"not caught in {TRIES} traces")


async def test_a_turn_written_before_its_send_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
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
        message = JobMessage.for_job(job, turn=job.turn + 1, attempt=wanted.attempt)
        await hold_while_bus_is_away(services, lambda: services.bus.send(message, at=wanted.at))

    monkeypatch.setattr(outcomes, "_turn", turn)
    await _assert_caught("is left", NO_SAFETY_NET)


async def test_a_nudge_without_a_suffix_of_its_own_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FakeBus.send

    async def send_without_suffix(
        self: FakeBus, message: JobMessage, *, at: datetime | None = None, suffix: str | None = None
    ) -> None:
        await real(self, message, at=at)

    monkeypatch.setattr(FakeBus, "send", send_without_suffix)
    await _assert_caught("is left", NO_SAFETY_NET)


async def test_a_commit_without_the_claim_check_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
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
    await _assert_caught("under another's claim", Plan())


async def test_an_intent_that_neither_claim_nor_clock_guards_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Ledger._write

    async def write(self: Ledger, record: EffectRecord) -> None:
        if record.state is not EffectState.INTENDED:
            await real(self, record)
            return
        services, job_id = self._claim.services, self._claim.job.job_id
        await services.jobs.add_row(job_id, effect_row(record))

    async def call(_: Ledger, wanted: Any, intent: EffectRecord) -> Done:
        done: Done = await wanted.call.send(intent.key)
        return done

    monkeypatch.setattr(Ledger, "_write", write)
    monkeypatch.setattr(Ledger, "_call", call)
    await _assert_caught("happened 2 times", Plan(effects=1.0, events=1))


async def test_removing_the_open_row_of_another_release_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FakeOpenIndex.remove

    async def remove(self: FakeOpenIndex, job_id: str, release: int, *, version: str | None = None) -> None:
        for other in range(release + 3):
            await real(self, job_id, other, version=version)

    monkeypatch.setattr(FakeOpenIndex, "remove", remove)
    await _assert_caught("without an open row", Plan())


async def test_a_close_guarded_by_its_own_releases_row_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real_put = FakeOpenIndex.put

    async def put(self: FakeOpenIndex, job_id: str, release: int) -> None:
        running = current()
        closing = running is not None and running.kind == "close"
        await real_put(self, job_id, release - 1 if closing else release)

    async def tidy(services: Services, job: Job, release: int) -> None:
        await tidy_really(services, job, release - 1)

    monkeypatch.setattr(FakeOpenIndex, "put", put)
    monkeypatch.setattr(close_module, "tidy", tidy)
    plan = Plan(operators=0.15, events=1, effects=0.0, cancels=0.0, kill_at=Point.CLOSE_AFTER_BATCH)
    await _assert_caught("listed as open", plan)
