"""A provider in memory that counts what really happened, for tests of what the application believes."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

from shared.calls.failures import CallFailed, FailureKind
from shared.effects.contract import Done, EffectContract

CALL = timedelta(seconds=20)
KEYED = EffectContract(
    action="keyed", provider="keyed", version=1, call_timeout=CALL, key_window=timedelta(hours=24)
)
FINDABLE = EffectContract(
    action="findable", provider="findable", version=1, call_timeout=CALL, lookup_lag=timedelta(seconds=30)
)
BLIND = EffectContract(action="blind", provider="blind", version=1, call_timeout=CALL)


def failure(provider: str, kind: FailureKind, status: int | None = None) -> CallFailed:
    return CallFailed(provider, kind, status=status)


@dataclass(slots=True)
class CountingProvider:
    """Executes, and counts what it executed by key. `script` says how the next calls end.

    A step is a FailureKind (nothing is executed), `"cut_after"` (executed, and the answer is lost), or
    anything else for a good call. `honours_keys` answers a known key without executing again.
    """

    name: str
    honours_keys: bool = False
    script: list[object] = field(default_factory=list)
    executed: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    questions: int = 0
    answers: list[object] = field(default_factory=list)

    async def send(self, key: str) -> Done:
        self.calls += 1
        step = self.script.pop(0) if self.script else "ok"
        if isinstance(step, FailureKind):
            raise CallFailed(self.name, step)
        if isinstance(step, Exception):
            raise step
        if not (self.honours_keys and key in self.executed):
            self.executed[key] += 1
        if step == "cut_after":
            raise CallFailed(self.name, FailureKind.UNCLEAR)
        return Done(external_id=f"{self.name}_{len(self.executed)}", data={"key": key})

    async def look_up(self, key: str) -> Done | None:
        self.questions += 1
        step = self.answers.pop(0) if self.answers else "ok"
        if isinstance(step, FailureKind):
            raise CallFailed(self.name, step)
        if step == "lagging" or key not in self.executed:
            return None
        return Done(external_id=f"{self.name}_{len(self.executed)}", data={"key": key})

    @property
    def total(self) -> int:
        return sum(self.executed.values())
