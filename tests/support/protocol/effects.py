"""What the jobs of a trace do to the outside, and what must hold of it.

A call is executed in the very step in which it is sent: a process that freezes just before has looked at
the clock too early, and that gap is stated as open. Its answer can be lost at the gate that follows.
"""

import random
from collections import Counter
from dataclasses import dataclass, field

from shared.calls.failures import CallFailed, FailureKind
from shared.effects.contract import Done, EffectContract
from shared.effects.records import EffectRecord
from shared.jobs import Job, JobState
from tests.support.outside import BLIND, FINDABLE, KEYED
from tests.support.protocol.checks import demand
from tests.support.protocol.gates import Verdict, pass_gate

CONTRACTS: tuple[EffectContract, ...] = (KEYED, FINDABLE, BLIND)
_NOT_EXECUTED = (FailureKind.NOT_SENT, FailureKind.THROTTLED, FailureKind.UNAVAILABLE, FailureKind.UNCLEAR)


@dataclass(slots=True)
class ModelOutside:
    """All providers of a trace; counts what happened by idempotency key."""

    chance: random.Random
    faults: float
    calm: bool = False
    acting: dict[str, bool] = field(default_factory=dict)  # by job: whether it does anything here at all
    executed: Counter[str] = field(default_factory=Counter)

    def found(self, record: EffectRecord) -> Done | None:
        """What somebody who looks there finds."""
        return self._done(record.key) if record.key in self.executed else None

    def _done(self, key: str) -> Done:
        return Done(external_id=f"at:{key}")

    async def send(self, contract: EffectContract, key: str) -> Done:
        if self._unlucky():
            raise CallFailed(contract.provider, self.chance.choice(_NOT_EXECUTED))
        if not (contract.key_window is not None and key in self.executed):
            self.executed[key] += 1
        verdict = await pass_gate(f"after {contract.action}", fallible=True)
        if verdict is not Verdict.GO or self._unlucky():
            raise CallFailed(contract.provider, FailureKind.UNCLEAR)
        return self._done(key)

    async def look_up(self, contract: EffectContract, key: str) -> Done | None:
        if self._unlucky():
            raise CallFailed(contract.provider, FailureKind.UNAVAILABLE)
        found = self._done(key) if key in self.executed else None
        await pass_gate(f"after asking for {contract.action}")
        return found

    def _unlucky(self) -> bool:
        return not self.calm and self.chance.random() < self.faults

    def check(self, jobs: list[Job]) -> None:
        """Raises Broken if anything happened twice, or a job succeeded without all it was to do."""
        for job in jobs:
            for contract in CONTRACTS:
                first = f"{job.job_id}:{contract.action}"
                times = sum(
                    count
                    for key, count in self.executed.items()
                    if key == first or key.startswith(f"{first}:g")
                )
                demand(times <= 1, f"{contract.action} of {job.job_id} happened {times} times")
                finished = job.state is JobState.SUCCEEDED and self.acting.get(job.job_id, False)
                demand(not finished or times == 1, f"{job.job_id} succeeded without {contract.action}")


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a job's task."""

    outside: ModelOutside
    contract: EffectContract

    async def send(self, key: str) -> Done:
        return await self.outside.send(self.contract, key)

    async def look_up(self, key: str) -> Done | None:
        return await self.outside.look_up(self.contract, key)
