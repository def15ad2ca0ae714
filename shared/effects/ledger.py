"""The ledger at work for one claimed job: intent before, result after, a question where no answer came.

Every write goes through the claim, so a worker that lost it can neither begin an effect nor overwrite what
another recorded; what it still learns is kept beside the record (`late`).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, assert_never

from shared.calls.calling import NO_COST, ProviderCalls, Usage
from shared.calls.failures import EXECUTED_NOTHING, CallFailed, FailureKind
from shared.effects.call_times import call_until, time_for
from shared.effects.contract import Done, EffectCall, EffectContract
from shared.effects.job_row import goes_on, with_record
from shared.effects.records import (
    EffectRecord,
    EffectState,
    effect_key,
    effect_row,
    latest,
    read_effect,
    request_hash,
)
from shared.effects.steps import Begin, Changed, LookUp, Repeat, Stored, Unknown, may_repeat, next_step
from shared.errors import (
    ClaimLost,
    EffectChanged,
    JobCancelled,
    NoTimeLeft,
    OutcomeUnknownError,
    StorageUnavailable,
)
from shared.failpoints import Point, reach
from shared.jobs import Job
from shared.ports import RowKind
from shared.worker.claims import Claim


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One effect as the task asks for it."""

    contract: EffectContract
    request_sha256: str
    call: EffectCall
    estimate: Usage


class Ledger:
    """Implements `Effects` for the job of `claim`."""

    def __init__(self, claim: Claim, calls: ProviderCalls, until: datetime) -> None:
        """`until` is when the attempt ends: no call lasts longer."""
        self._claim = claim
        self._calls = calls
        self._until = until
        self._records: list[EffectRecord] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def perform(
        self,
        contract: EffectContract,
        request: Mapping[str, Any],
        call: EffectCall,
        *,
        estimate: Usage = NO_COST,
    ) -> Done:
        """As the port says.

        Raises CallFailed (nothing was executed, or a repeat is harmless), OutcomeUnknownError, MustWait,
        BudgetExceeded, NoTimeLeft, JobCancelled, EffectChanged, ClaimLost or StorageUnavailable.
        """
        wanted = _Wanted(contract, request_hash(request), call, estimate)
        async with self._one_at_a_time:
            while True:
                done = await self._advance(wanted)
                if done is not None:
                    return done

    async def disprove(self, contract: EffectContract, code: str) -> None:
        """As the port says. Without a done effect there is nothing to disprove."""
        async with self._one_at_a_time:
            record = latest(await self._known(), contract.action)
            if record is None or record.state is not EffectState.DONE:
                return
            failed = replace(record, state=EffectState.FAILED, code=code, late=False)
            await self._write(contract, failed)
            await reach(Point.EFFECT_AFTER_DISPROOF)

    async def _advance(self, wanted: _Wanted) -> Done | None:
        """One step; None if another must follow."""
        contract, job = wanted.contract, self._claim.job
        record = latest(await self._known(), contract.action)
        step = next_step(record, wanted.request_sha256, contract, job.release, self._now())
        match step:
            case Stored(done):
                assert record is not None
                await self._resume(contract, record)
                by_person = record.operator is not None
                return replace(done, unconfirmed=by_person and not self._claim.job.waiting)
            case Begin(generation):
                return await self._send(wanted, self._intent(wanted, generation), fresh=True)
            case Repeat(standing):
                return await self._send(wanted, standing, fresh=False)
            case LookUp(standing, conclusive_at):
                await self._look_up(wanted, standing, conclusive_at)
                return None
            case Unknown():
                raise OutcomeUnknownError(_unknown(contract))
            case Changed():
                raise EffectChanged
            case _:
                assert_never(step)

    def _intent(self, wanted: _Wanted, generation: int) -> EffectRecord:
        contract, job = wanted.contract, self._claim.job
        return EffectRecord(
            action=contract.action,
            generation=generation,
            state=EffectState.INTENDED,
            key=effect_key(job.job_id, contract.action, generation),
            provider=contract.provider,
            contract_version=contract.version,
            request_sha256=wanted.request_sha256,
            release=job.release,
            intended_at=self._now(),
            call_until=self._call_until(contract),
        )

    def _call_until(self, contract: EffectContract) -> datetime:
        return call_until(contract, self._now(), min(self._until, self._claim.until))

    async def _send(self, wanted: _Wanted, intent: EffectRecord, *, fresh: bool) -> Done:
        """Write the intent and make the call; `fresh` if nothing of this generation was ever sent."""

        contract, begun, answer = wanted.contract, False, None

        async def intend_and_call() -> Done:
            nonlocal intent, begun, answer
            intent = replace(intent, call_until=self._call_until(contract))  # admission may have taken long
            await reach(Point.EFFECT_BEFORE_INTENT)
            await self._write(contract, intent)
            await reach(Point.EFFECT_AFTER_INTENT)
            begun = True
            done = await self._call(wanted, intent)
            answer = replace(intent, state=EffectState.DONE, external_id=done.external_id, data=done.data)
            return done

        spare = timedelta(seconds=60)
        try:
            done = await self._calls.run(
                contract.provider,
                intend_and_call,
                timeout=contract.call_timeout + spare,
                # A repeat under the same key is the same purchase.
                estimate=wanted.estimate if fresh else NO_COST,
            )
            await reach(Point.EFFECT_AFTER_CALL)
            assert answer is not None
            await self._record(contract, answer)
        except asyncio.CancelledError:
            # The attempt's time is up, the lease is not: what the call gave is written down all the same.
            if answer is not None:
                await self._record(contract, answer)
            raise
        except CallFailed as failure:
            if not begun:
                raise StorageUnavailable("The intent could not be written in time.") from None
            await self._failed(wanted, intent, failure, fresh=fresh)
            raise
        except NoTimeLeft:
            if fresh and begun:
                unsent = replace(intent, state=EffectState.NOT_EXECUTED, code=NoTimeLeft.code)
                await self._write(contract, unsent)
            raise
        await reach(Point.EFFECT_AFTER_RESULT)
        return done

    async def _call(self, wanted: _Wanted, intent: EffectRecord) -> Done:
        """The call itself, within its time. A process that was frozen after its intent does not call."""
        limit = asyncio.timeout(time_for(wanted.contract, self._now(), intent.call_until).total_seconds())
        try:
            async with limit:
                return await wanted.call.send(intent.key)
        except TimeoutError:
            raise CallFailed(intent.provider, FailureKind.UNCLEAR) from None

    async def _failed(
        self, wanted: _Wanted, intent: EffectRecord, failure: CallFailed, *, fresh: bool
    ) -> None:
        """Record what the failure proves; raise OutcomeUnknownError where it proves nothing."""
        await reach(Point.EFFECT_AFTER_FAILED_CALL)
        contract = wanted.contract
        if fresh and failure.kind in EXECUTED_NOTHING:
            turned_away = replace(intent, state=EffectState.NOT_EXECUTED, code=failure.kind.value)
            await self._write(contract, turned_away)
            return
        # A repeat that was refused says nothing of the first call.
        if failure.kind is not FailureKind.REJECTED and may_repeat(intent, contract, self._now()):
            return
        ask_at = None
        if contract.lookup_lag is not None:
            ask_at = max(intent.call_until, self._now()) + contract.lookup_lag
        raise OutcomeUnknownError(_unknown(contract), ask_at=ask_at) from None

    async def _look_up(self, wanted: _Wanted, record: EffectRecord, conclusive_at: datetime) -> None:
        """Ask the provider, and write down its answer if it is one."""
        contract = wanted.contract
        await reach(Point.EFFECT_BEFORE_LOOK_UP)
        asked_at = self._now()
        try:
            found = await self._calls.run(
                contract.provider, lambda: wanted.call.look_up(record.key), timeout=contract.call_timeout
            )
        except CallFailed:
            raise OutcomeUnknownError(_unknown(contract), ask_at=max(asked_at, conclusive_at)) from None
        await reach(Point.EFFECT_AFTER_LOOK_UP)
        if found is not None:
            answer = replace(
                record, state=EffectState.DONE, external_id=found.external_id, data=found.data, late=False
            )
        elif asked_at >= conclusive_at:
            answer = replace(record, state=EffectState.NOT_EXECUTED, code="not_found", late=False)
        else:
            raise OutcomeUnknownError(_unknown(contract), ask_at=conclusive_at)
        self._claim.services.telemetry.count(
            "outcomes_reconciled", provider=contract.provider, outcome=answer.state.value
        )
        await self._write(contract, answer)
        await reach(Point.EFFECT_AFTER_ANSWER_WRITTEN)

    async def _record(self, contract: EffectContract, record: EffectRecord) -> None:
        """Write the result; by a worker that lost its claim, beside the record instead of over it."""
        try:
            await self._write(contract, record)
        except ClaimLost:
            services, row = self._claim.services, effect_row(replace(record, late=True))
            job_id = self._claim.job.job_id
            await self._claim.outlast_outage(lambda: services.jobs.add_row(job_id, row))
            services.telemetry.count("late_effects", provider=record.provider)
            raise

    async def _write(self, contract: EffectContract, record: EffectRecord) -> None:
        """The record, and on the job's row whether its outcome is open, in one batch under the claim."""
        is_open = record.state is EffectState.INTENDED
        services, event = self._claim.services, f"effect_{record.state.value}"

        def change(current: Job) -> Job:
            standing = record.action in current.open_effects
            if is_open and not standing and current.cancel_requested:
                raise JobCancelled
            return with_record(current, contract, record, self._now())

        note = record.key.partition(":")[2]  # the action and, from the second on, the generation
        row = services.timeline(self._claim.job, event, code=record.code, note=note)
        await self._claim.commit(change, [effect_row(record), row])
        known = await self._known()
        self._records = [old for old in known if effect_row(old).key != effect_row(record).key] + [record]

    async def _resume(self, contract: EffectContract, record: EffectRecord) -> None:
        """Make the job's row say what the `record` of a done effect means for this run.

        A late worker's record ended an intent without touching the row. After a resubmit the row knows
        nothing of what the outside works on.
        """
        job, now = self._claim.job, self._now()
        if record.action in job.open_effects:
            await self._write(contract, replace(record, late=False))
        elif goes_on(contract, record) and not job.waiting:
            await self._claim.commit(lambda current: current.changed(now, waiting_since=now))

    async def _known(self) -> list[EffectRecord]:
        """The job's records; a job at its very first claim has none."""
        if self._records is None:
            job, jobs = self._claim.job, self._claim.services.jobs
            rows = []
            if job.claim > 1:
                rows = await self._claim.outlast_outage(lambda: jobs.rows(job.job_id, RowKind.EFFECT))
            self._records = [read_effect(row) for row in rows]
        return self._records

    def _now(self) -> datetime:
        return self._claim.services.clock.now()


def _unknown(contract: EffectContract) -> str:
    return f"Nobody knows yet whether {contract.provider} carried out {contract.action}."
