"""The circuit breakers as one process sees them: shared rows behind a short-lived copy.

A good call to a healthy provider costs no round trip: the copy says closed, and nothing is written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.calls.calling import MustWait
from shared.calls.failures import CallFailed
from shared.calls.resting import RESTING
from shared.limits.breaker import (
    CLOSED,
    Breaker,
    Hold,
    Pass,
    Probe,
    admit,
    after_failure,
    after_success,
    wake_up,
    without_probe,
)
from shared.limits.ports import BreakerStore, StoredBreaker
from shared.pipeline.policies import BreakerPolicy
from shared.ports import Clock, Randomness

_FRESH = timedelta(seconds=1.5)
_PROBE_MARGIN = timedelta(seconds=5)
_TRIES = 8
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Admitted:
    """Leave to make one call; `probe` is the token of one that tries the provider out."""

    provider: str
    policy: BreakerPolicy
    probe: str | None = None


class Breakers:
    """One object a process."""

    def __init__(self, store: BreakerStore, clock: Clock, randomness: Randomness) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._copies: dict[str, tuple[StoredBreaker, datetime]] = {}

    async def admit(self, provider: str, policy: BreakerPolicy, timeout: timedelta) -> Admitted:
        """Leave to make a call that takes up to `timeout`. Raises MustWait or StorageUnavailable."""
        for _ in range(_TRIES):
            stored = self._copy(provider) or await self._load(provider)
            now, token = self._clock.now(), self._randomness.token()
            match admit(stored.breaker, now, token=token, lease=timeout + _PROBE_MARGIN):
                case Pass():
                    return Admitted(provider, policy)
                case Hold(until):
                    raise self._wait(stored.breaker, until, policy)
                case Probe(breaker):
                    if await self._write(provider, breaker, stored):
                        return Admitted(provider, policy, token)
        raise self._wait(CLOSED, self._clock.now(), policy)

    async def succeeded(self, admitted: Admitted) -> None:
        """The provider answered, be it with a refusal."""
        known = self._copies.get(admitted.provider)
        if admitted.probe is None and known is not None and known[0].breaker == CLOSED:
            return
        await self._change(admitted.provider, lambda breaker: after_success(breaker, admitted.probe))

    async def failed(self, admitted: Admitted, failure: CallFailed) -> MustWait | None:
        """The provider did not serve the call. For a probe, the wait that this means for its job."""
        now, policy, probe = self._clock.now(), admitted.policy, admitted.probe
        after = await self._change(
            admitted.provider, lambda breaker: after_failure(breaker, failure, now, policy, probe)
        )
        if probe is None or after.open_until is None:
            return None
        return self._wait(after, after.open_until, policy)

    async def give_back(self, admitted: Admitted) -> None:
        """The call was not made, or told nothing of the provider."""
        probe = admitted.probe
        if probe is not None:
            await self._change(admitted.provider, lambda breaker: without_probe(breaker, probe))

    def _copy(self, provider: str) -> StoredBreaker | None:
        """What is known without asking: anything for a moment, a rest until it ends."""
        stored, read_at = self._copies.get(provider, (None, self._clock.now()))
        if stored is None:
            return None
        now, until = self._clock.now(), stored.breaker.open_until
        if until is not None:
            return stored if now < until else None
        return stored if now < read_at + _FRESH else None

    async def _load(self, provider: str) -> StoredBreaker:
        return self._keep(provider, await self._store.load(provider))

    def _keep(self, provider: str, stored: StoredBreaker) -> StoredBreaker:
        self._copies[provider] = (stored, self._clock.now())
        return stored

    async def _write(self, provider: str, breaker: Breaker, instead_of: StoredBreaker) -> bool:
        written = await self._store.write(provider, breaker, instead_of.version)
        if written is None:
            self._copies.pop(provider, None)
            return False
        self._keep(provider, written)
        return True

    async def _change(self, provider: str, change: Callable[[Breaker], Breaker]) -> Breaker:
        """The breaker after `change`; after many others' changes at once, without it."""
        known = self._copies.get(provider)
        stored = known[0] if known is not None else await self._load(provider)
        for _ in range(_TRIES):
            changed = change(stored.breaker)
            if changed == stored.breaker or await self._write(provider, changed, stored):
                return changed
            await self._clock.sleep(_PAUSE_SECONDS * self._randomness.fraction())
            stored = await self._load(provider)
        return stored.breaker

    def _wait(self, breaker: Breaker, until: datetime, policy: BreakerPolicy) -> MustWait:
        fraction = self._randomness.fraction()
        return MustWait(RESTING, wake_up(breaker, until, self._clock.now(), policy, fraction))
