"""What the jobs of a trace do to the outside, and what must hold of it.

A call is executed in the very step in which it is sent: a process that freezes just before has looked at
the clock too early, and that gap is stated as open. Its answer can be lost at the gate that follows.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations

from shared.calls.calling import Usage
from shared.calls.failures import CallFailed, FailureKind
from shared.effects.contract import Done, EffectContract
from shared.effects.records import EffectRecord
from shared.jobs import Job, JobState
from tests.support.outside import BLIND, FINDABLE, KEYED
from tests.support.protocol.chance import Chance
from tests.support.protocol.checks import demand
from tests.support.protocol.gates import Verdict, pass_gate

MODEL = "model"
PROVIDERS = (KEYED.provider, FINDABLE.provider, BLIND.provider, MODEL)
ESTIMATE, COST = Usage(tokens=20), Usage(tokens=7)
_NOT_EXECUTED = (FailureKind.NOT_SENT, FailureKind.THROTTLED, FailureKind.UNAVAILABLE, FailureKind.UNCLEAR)


ORDERS: tuple[tuple[EffectContract, ...], ...] = tuple(permutations((KEYED, FINDABLE, BLIND)))


@dataclass(slots=True)
class ModelOutside:
    """All providers of a trace; counts what happened by idempotency key.

    `void` has the ids of what was executed and comes to nothing, as their provider says when asked.
    """

    chance: Chance
    faults: float
    voids: float
    job: Callable[[str], Job]
    calm: bool = False
    wanted: dict[str, tuple[EffectContract, ...]] = field(default_factory=dict)  # by job, in its order
    executed: Counter[str] = field(default_factory=Counter)
    void: set[str] = field(default_factory=set)
    callbacks: set[str] = field(default_factory=set)  # the tokens that the providers were given
    problems: list[str] = field(default_factory=list)

    def found(self, record: EffectRecord) -> Done | None:
        """What somebody who looks there finds."""
        return self._done(record.key) if record.key in self.executed else None

    def _done(self, key: str) -> Done:
        return Done(external_id=f"at:{key}")

    async def send(self, contract: EffectContract, key: str) -> Done:
        if self.job(key.partition(":")[0]).state is JobState.CANCELLED:
            self.problems.append(f"{key} was sent for a cancelled job")
        if self._unlucky():
            raise CallFailed(contract.provider, self.chance.choice(_NOT_EXECUTED))
        if not (contract.key_window is not None and key in self.executed):
            self.executed[key] += 1
            if not self.calm and self.chance.random() < self.voids:
                self.void.add(self._done(key).external_id)
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

    async def ask_model(self) -> str:
        if self._unlucky():
            raise CallFailed(MODEL, self.chance.choice(_NOT_EXECUTED))
        await pass_gate("after asking the model")
        return "an answer"

    def _unlucky(self) -> bool:
        return not self.calm and self.chance.random() < self.faults

    def check(self, jobs: list[Job]) -> None:
        """Raises Broken if anything happened twice, or a job succeeded without all it was to do."""
        demand(not self.problems, "; ".join(self.problems))
        for job in jobs:
            for contract in ORDERS[0]:
                first = f"{job.job_id}:{contract.action}"
                times = sum(
                    count
                    for key, count in self.executed.items()
                    if (key == first or key.startswith(f"{first}:g"))
                    and (count > 1 or self._done(key).external_id not in self.void)
                )
                demand(times <= 1, f"{contract.action} of {job.job_id} happened {times} times")
                finished = job.state is JobState.SUCCEEDED and contract in self.wanted.get(job.job_id, ())
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
