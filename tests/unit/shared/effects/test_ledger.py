"""The ledger on one claimed job: what is written before and after a call, and what is never sent."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest

from shared.calls.calling import NO_COST, MustWait, Usage
from shared.calls.failures import CallFailed, FailureKind
from shared.effects.call_times import INTENT_TIME, WRITE_TIME
from shared.effects.contract import Done, EffectContract
from shared.effects.ledger import Ledger
from shared.effects.records import EffectRecord, EffectState, read_effect
from shared.errors import (
    ClaimLost,
    EffectChanged,
    JobCancelled,
    NoTimeLeft,
    OutcomeUnknownError,
    StorageUnavailable,
)
from shared.failpoints import Point
from shared.jobs import Job, JobState, Lease
from shared.ports import Row, RowKind, Snapshot
from shared.worker.claims import Claim
from tests.support.application import build_services, new_job
from tests.support.fakes import World
from tests.support.kills import killed_at
from tests.support.outside import BLIND, FINDABLE, KEYED, CountingProvider

T = TypeVar("T")
LEASE = timedelta(seconds=90)
HARMLESS = replace(BLIND, repeatable=True)
LONG = replace(BLIND, long_running=True)
REQUEST = {"prompt": "a lighthouse"}


class DirectCalls:
    """ProviderCalls without breaker, budget or time."""

    def __init__(self) -> None:
        self.refusal: Exception | None = None
        self.estimates: list[Usage] = []

    async def run(
        self,
        provider: str,
        call: Callable[[], Awaitable[T]],
        *,
        timeout: timedelta,
        estimate: Usage = NO_COST,
        used: Callable[[T], Usage] | None = None,
    ) -> T:
        self.estimates.append(estimate)
        if self.refusal is not None:
            raise self.refusal
        return await call()


class Desk:
    """One job, claimed as often as a test likes, and its provider."""

    def __init__(self, contract: EffectContract) -> None:
        self.world = World()
        self.services = build_services(self.world)
        self.contract = contract
        self.provider = CountingProvider(contract.provider, honours_keys=contract.key_window is not None)
        self.calls = DirectCalls()

    async def store(self) -> Job:
        job = new_job(self.world)
        assert await self.world.jobs.insert(job, [])
        self.job_id = job.job_id
        return job

    async def claim(self) -> Claim:
        snapshot = await self.world.jobs.load(self.job_id)
        assert snapshot is not None
        until = self.world.clock.now() + LEASE
        claimed = replace(
            snapshot.job,
            state=JobState.RUNNING,
            claim=snapshot.job.claim + 1,
            lease=Lease(token=f"claim-{snapshot.job.claim + 1}", until=until),
        )
        return Claim(self.services, await self.world.jobs.commit(snapshot, claimed), until)

    def ledger(self, claim: Claim, until: datetime | None = None) -> Ledger:
        return Ledger(claim, self.calls, until or self.world.clock.now() + LEASE)

    async def perform(self, claim: Claim, request: dict[str, str] | None = None) -> Done:
        return await self.ledger(claim).perform(self.contract, request or REQUEST, self.provider)

    async def records(self) -> list[EffectRecord]:
        return [read_effect(row) for row in await self.world.jobs.rows(self.job_id, RowKind.EFFECT)]

    def open_effects(self) -> list[str]:
        """As the stored job's row names them."""
        return list(self.world.jobs.job(self.job_id).open_effects)


async def desk(contract: EffectContract = BLIND) -> Desk:
    made = Desk(contract)
    await made.store()
    return made


async def test_an_effect_is_done_once_and_answered_from_the_ledger_afterwards() -> None:
    at = await desk()
    first = await at.perform(await at.claim())
    again = await at.perform(await at.claim())
    assert first == again
    assert at.provider.calls == 1
    assert at.open_effects() == []
    assert [record.state for record in await at.records()] == [EffectState.DONE]


async def test_the_intent_stands_before_the_call_and_names_what_is_open() -> None:
    at = await desk()
    seen: list[list[str]] = []

    class Looking(CountingProvider):
        async def send(self, key: str) -> Done:
            seen.append(at.open_effects())
            (record,) = await at.records()
            assert (record.state, record.key) == (EffectState.INTENDED, key)
            return await super().send(key)

    at.provider = Looking(BLIND.provider)
    await at.perform(await at.claim())
    assert seen == [["blind"]]


@pytest.mark.parametrize("kind", [FailureKind.NOT_SENT, FailureKind.THROTTLED, FailureKind.UNAVAILABLE])
async def test_a_call_that_was_not_executed_leaves_nothing_open_and_may_be_made_again(
    kind: FailureKind,
) -> None:
    at = await desk()
    at.provider.script = [kind]
    with pytest.raises(CallFailed) as caught:
        await at.perform(await at.claim())
    assert caught.value.kind is kind
    assert at.open_effects() == []
    await at.perform(await at.claim())
    assert at.provider.executed == {f"{at.job_id}:blind": 1}


async def test_a_lost_answer_without_keys_or_look_up_is_unknown_and_never_sent_again() -> None:
    at = await desk(BLIND)
    at.provider.script = ["cut_after"]
    for _ in range(3):
        with pytest.raises(OutcomeUnknownError) as caught:
            await at.perform(await at.claim())
        assert caught.value.ask_at is None
    assert at.provider.calls == at.provider.total == 1
    assert at.open_effects() == ["blind"]


async def test_a_lost_answer_is_repeated_with_its_key_where_the_provider_takes_keys() -> None:
    at = await desk(KEYED)
    at.provider.script = ["cut_after"]
    with pytest.raises(CallFailed):
        await at.perform(await at.claim())
    assert at.open_effects() == ["keyed"]
    await at.perform(await at.claim())
    assert (at.provider.calls, at.provider.total) == (2, 1)
    assert at.open_effects() == []


async def test_a_repeat_that_is_turned_away_says_nothing_of_the_first_call() -> None:
    at = await desk(KEYED)
    at.provider.script = ["cut_after", FailureKind.THROTTLED]
    for _ in range(2):
        with pytest.raises(CallFailed):
            await at.perform(await at.claim())
    assert at.open_effects() == ["keyed"]
    at.provider.script = [FailureKind.REJECTED]
    with pytest.raises(OutcomeUnknownError):
        await at.perform(await at.claim())
    assert at.open_effects() == ["keyed"]


async def test_past_the_key_window_nothing_is_repeated() -> None:
    at = await desk(KEYED)
    at.provider.script = ["cut_after"]
    with pytest.raises(CallFailed):
        await at.perform(await at.claim())
    at.world.clock.advance(timedelta(hours=24))
    with pytest.raises(OutcomeUnknownError):
        await at.perform(await at.claim())
    assert at.provider.calls == 1


async def test_a_lost_answer_is_found_where_the_provider_can_be_asked() -> None:
    at = await desk(FINDABLE)
    at.provider.script = ["cut_after"]
    with pytest.raises(OutcomeUnknownError) as caught:
        await at.perform(await at.claim())
    assert caught.value.ask_at is not None
    done = await at.perform(await at.claim())
    assert done.data["key"] == f"{at.job_id}:findable"
    assert at.provider.total == 1


async def test_nothing_found_counts_only_after_call_and_lag() -> None:
    at = await desk(FINDABLE)
    at.provider.script = [FailureKind.UNCLEAR]
    with pytest.raises(OutcomeUnknownError):
        await at.perform(await at.claim())
    with pytest.raises(OutcomeUnknownError) as caught:
        await at.perform(await at.claim())
    assert at.provider.calls == 1
    (record,) = await at.records()
    assert caught.value.ask_at == record.call_until + timedelta(seconds=30)
    at.world.clock.advance(caught.value.ask_at - at.world.clock.now())
    await at.perform(await at.claim())
    assert (at.provider.calls, at.provider.total) == (2, 1)


async def test_a_provider_that_cannot_be_reached_for_an_answer_leaves_the_outcome_unknown() -> None:
    at = await desk(FINDABLE)
    at.provider.script = ["cut_after"]
    at.provider.answers = [FailureKind.UNAVAILABLE, FailureKind.UNCLEAR, FailureKind.REJECTED]
    for _ in range(4):
        with pytest.raises(OutcomeUnknownError):
            await at.perform(await at.claim())
    assert at.open_effects() == ["findable"]
    await at.perform(await at.claim())
    assert at.provider.total == 1


@pytest.mark.parametrize("contract", [BLIND, KEYED, FINDABLE])
@pytest.mark.parametrize(
    "point",
    [
        Point.EFFECT_BEFORE_INTENT,
        Point.EFFECT_AFTER_INTENT,
        Point.EFFECT_AFTER_CALL,
        Point.EFFECT_AFTER_RESULT,
    ],
)
async def test_a_kill_around_the_call_never_leads_to_a_second_effect(
    point: Point, contract: EffectContract
) -> None:
    at = await desk(contract)
    claim = await at.claim()
    async with killed_at(point):
        await at.perform(claim)
    for _ in range(4):
        at.world.clock.advance(timedelta(minutes=2))
        try:
            await at.perform(await at.claim())
        except (OutcomeUnknownError, CallFailed):
            continue
        break
    assert at.provider.total <= 1
    settled = at.open_effects() == []
    assert settled == (
        at.provider.total == 1 and (contract is not BLIND or point is not Point.EFFECT_AFTER_CALL)
    )


async def test_a_worker_that_lost_its_claim_begins_nothing() -> None:
    at = await desk()
    zombie = await at.claim()
    await at.claim()
    with pytest.raises(ClaimLost):
        await at.perform(zombie)
    assert at.provider.calls == 0


async def test_a_worker_that_finishes_late_overwrites_nothing_and_its_knowledge_is_kept() -> None:
    at = await desk(BLIND)
    zombie = await at.claim()

    class Slow(CountingProvider):
        async def send(self, key: str) -> Done:
            done = await super().send(key)
            await at.claim()  # another worker takes over while the call lasts
            return done

    at.provider = Slow(BLIND.provider)
    with pytest.raises(ClaimLost):
        await at.perform(zombie)
    assert at.open_effects() == ["blind"]
    done = await at.perform(await at.claim())
    assert done.external_id == "blind_1"
    assert at.provider.calls == 1
    assert at.open_effects() == []


async def test_a_process_frozen_after_its_intent_does_not_call() -> None:
    at = await desk()
    real = at.world.jobs.commit

    async def slow_commit(snapshot: Snapshot, job: Job, rows: Sequence[Row] = ()) -> Snapshot:
        written = await real(snapshot, job, rows)
        at.world.clock.advance(timedelta(minutes=5))
        return written

    claim = await at.claim()
    at.world.jobs.commit = slow_commit  # type: ignore[method-assign]  # a fault planted in this one object
    with pytest.raises(NoTimeLeft):
        await at.perform(claim)
    assert at.provider.calls == 0
    assert at.open_effects() == []


async def test_a_call_is_not_begun_when_the_attempt_is_nearly_over() -> None:
    at = await desk()
    claim = await at.claim()
    ledger = at.ledger(claim, at.world.clock.now() + timedelta(seconds=0.5))
    with pytest.raises(NoTimeLeft):
        await ledger.perform(at.contract, REQUEST, at.provider)
    assert await at.records() == []


@pytest.mark.parametrize(
    ("contract", "begun"), [(BLIND, False), (KEYED, True), (FINDABLE, True), (HARMLESS, True)], ids=str
)
async def test_a_call_that_only_a_person_could_clear_up_is_not_begun_without_all_of_its_time(
    contract: EffectContract, begun: bool
) -> None:
    at = await desk(contract)
    claim = await at.claim()
    short = at.world.clock.now() + contract.call_timeout + WRITE_TIME - timedelta(milliseconds=1)
    try:
        await at.ledger(claim, short).perform(contract, REQUEST, at.provider)
    except NoTimeLeft:
        assert await at.records() == []
    assert bool(at.provider.calls) is begun
    enough = at.world.clock.now() + contract.call_timeout + WRITE_TIME
    await at.ledger(await at.claim(), enough).perform(contract, REQUEST, at.provider)
    assert at.provider.total == 1


async def test_time_spent_on_the_way_to_the_call_is_not_taken_from_it() -> None:
    at = await desk(BLIND)
    claim = await at.claim()
    commit = at.world.jobs.commit

    async def slow_commit(snapshot: Snapshot, job: Job, rows: Sequence[Row] = ()) -> Snapshot:
        at.world.clock.advance(INTENT_TIME)
        return await commit(snapshot, job, rows)

    at.world.jobs.commit = slow_commit  # type: ignore[method-assign]  # a fault planted in this one object
    sent_at: list[datetime] = []

    class Timed(CountingProvider):
        async def send(self, key: str) -> Done:
            sent_at.append(at.world.clock.now())
            return await super().send(key)

    at.provider = Timed(BLIND.provider)
    await at.perform(claim)
    (record,) = await at.records()
    assert [record.call_until - sent for sent in sent_at] == [BLIND.call_timeout]


async def test_what_goes_on_outside_is_waited_for_from_its_answer_on() -> None:
    at = await desk(LONG)
    await at.perform(await at.claim())
    answered_at = at.world.clock.now()
    assert at.world.jobs.job(at.job_id).waiting_since == answered_at
    at.world.clock.advance(timedelta(minutes=1))
    await at.perform(await at.claim())
    assert at.world.jobs.job(at.job_id).waiting_since == answered_at


async def test_a_later_release_waits_anew_for_what_goes_on_outside() -> None:
    at = await desk(LONG)
    await at.perform(await at.claim())
    snapshot = await at.world.jobs.load(at.job_id)
    assert snapshot is not None
    await at.world.jobs.commit(snapshot, replace(snapshot.job, release=1, waiting_since=None))
    at.world.clock.advance(timedelta(days=1))
    await at.perform(await at.claim())
    assert at.world.jobs.job(at.job_id).waiting_since == at.world.clock.now()
    assert at.provider.calls == 1


@pytest.mark.parametrize("contract", [BLIND, KEYED, FINDABLE], ids=str)
async def test_a_call_that_is_over_with_its_answer_leaves_nothing_to_wait_for(
    contract: EffectContract,
) -> None:
    at = await desk(contract)
    await at.perform(await at.claim())
    assert not at.world.jobs.job(at.job_id).waiting


async def test_what_came_to_nothing_is_waited_for_no_more() -> None:
    at = await desk(LONG)
    await at.perform(await at.claim())
    await at.ledger(await at.claim()).disprove(LONG, "creation_failed")
    assert not at.world.jobs.job(at.job_id).waiting


async def test_a_cancelled_job_begins_no_effect_and_finishes_the_one_that_is_open() -> None:
    at = await desk(KEYED)
    at.provider.script = ["cut_after"]
    with pytest.raises(CallFailed):
        await at.perform(await at.claim())
    claim = await at.claim()
    snapshot = await at.world.jobs.load(at.job_id)
    assert snapshot is not None
    await at.world.jobs.commit(snapshot, replace(snapshot.job, cancel_requested=True))
    ledger = at.ledger(claim)
    await ledger.perform(at.contract, REQUEST, at.provider)
    with pytest.raises(JobCancelled):
        await ledger.perform(BLIND, REQUEST, at.provider)
    assert at.provider.total == 1


async def test_a_provider_that_rests_costs_no_intent() -> None:
    at = await desk()
    at.calls.refusal = MustWait("provider_resting", at.world.clock.now())
    with pytest.raises(MustWait):
        await at.perform(await at.claim())
    assert await at.records() == []


async def test_another_request_within_a_release_is_the_tasks_fault() -> None:
    at = await desk()
    await at.perform(await at.claim())
    with pytest.raises(EffectChanged):
        await at.perform(await at.claim(), {"prompt": "another"})
    assert at.provider.calls == 1


async def test_a_disproved_effect_begins_a_new_generation_under_a_new_key() -> None:
    at = await desk(KEYED)
    claim = await at.claim()
    ledger = at.ledger(claim)
    await ledger.perform(at.contract, REQUEST, at.provider)
    await ledger.disprove(at.contract, "creation_failed")
    await ledger.perform(at.contract, REQUEST, at.provider)
    assert sorted(at.provider.executed) == [f"{at.job_id}:keyed", f"{at.job_id}:keyed:g1"]
    assert [record.code for record in await at.records()] == ["creation_failed", None]


async def test_what_was_never_done_cannot_be_disproved() -> None:
    at = await desk()
    await at.ledger(await at.claim()).disprove(at.contract, "creation_failed")
    assert await at.records() == []


async def test_storage_that_is_away_after_the_call_leaves_the_intent_open() -> None:
    at = await desk(BLIND)
    claim = await at.claim()

    class Cutting(CountingProvider):
        async def send(self, key: str) -> Done:
            done = await super().send(key)
            at.world.storage_down()
            return done

    at.provider = Cutting(BLIND.provider)
    with pytest.raises(StorageUnavailable):
        await at.perform(claim)
    at.world.storage_down(False)
    with pytest.raises(OutcomeUnknownError):
        await at.perform(await at.claim())
    assert at.provider.total == 1


async def test_an_answer_that_came_is_written_down_when_the_attempts_time_is_up() -> None:
    at = await desk(BLIND)
    claim = await at.claim()

    class UntilCancelled(DirectCalls):
        async def run(self, *arguments: Any, **named: Any) -> Any:
            await super().run(*arguments, **named)
            await asyncio.Event().wait()  # what follows a call lasts too long

    at.calls = UntilCancelled()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await at.perform(claim)
    assert at.open_effects() == []
    at.calls = DirectCalls()
    assert (await at.perform(await at.claim())).external_id == "blind_1"
    assert at.provider.calls == 1


async def test_a_repeat_under_the_same_key_is_not_paid_for_twice() -> None:
    at = await desk(KEYED)
    at.provider.script = ["cut_after"]
    with pytest.raises(CallFailed):
        await at.ledger(await at.claim()).perform(KEYED, REQUEST, at.provider, estimate=Usage(tokens=7))
    await at.ledger(await at.claim()).perform(KEYED, REQUEST, at.provider, estimate=Usage(tokens=7))
    assert [usage.tokens for usage in at.calls.estimates] == [7, 0]


async def test_the_timeline_names_the_action_once_and_a_later_generation() -> None:
    made = await desk(KEYED)
    ledger = made.ledger(await made.claim())
    await ledger.perform(KEYED, REQUEST, made.provider)
    await ledger.disprove(KEYED, "came_to_nothing")
    await ledger.perform(KEYED, REQUEST, made.provider)
    notes = [row.data["note"] for row in await made.world.jobs.rows(made.job_id, RowKind.TIMELINE)]
    assert Counter(notes) == {KEYED.action: 3, f"{KEYED.action}:g1": 2}
