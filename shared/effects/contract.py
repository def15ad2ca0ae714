"""What a provider promises about one kind of call, and the call itself as a task hands it over."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from shared.calls.calling import NO_COST, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectContract:
    """What may be done with a call of this kind whose answer never came.

    `action` names the effect within its job, `provider` the other side (its circuit breaker and budget).
    A call ends within `call_timeout`. `key_window` is how long the provider honours an idempotency key
    (None: it takes none), `lookup_lag` after how long a call that was executed is sure to be found by our
    reference (None: it cannot be asked). `repeatable`: a repeat is harmless without a key.
    `long_running`: the answer says only that the work has begun, so each run after it is a look, which spends
    no attempt.
    """

    action: str
    provider: str
    version: int
    call_timeout: timedelta
    key_window: timedelta | None = None
    lookup_lag: timedelta | None = None
    repeatable: bool = False
    long_running: bool = False

    @property
    def needs_a_person(self) -> bool:
        """Whether nobody else can tell what became of a call whose answer never came."""
        return not (self.repeatable or self.key_window is not None or self.can_be_asked)

    @property
    def can_be_asked(self) -> bool:
        return self.lookup_lag is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What an executed call gave: the provider's id of it, and small JSON-able data (no secrets, no text).

    `unconfirmed`: the id is a person's word, and no answer about it has let the job wait since. A provider
    that does not know it then makes an `IdNotKnown`.
    """

    external_id: str
    data: Mapping[str, Any] = field(default_factory=dict)
    unconfirmed: bool = False


class EffectCall(Protocol):
    """One call to the outside, ready to be made. Both methods raise `CallFailed` only."""

    async def send(self, key: str) -> Done:
        """Make the call, passing `key` on as idempotency key or reference."""
        ...

    async def look_up(self, key: str) -> Done | None:
        """What the provider has under the reference `key`; None if it has nothing."""
        ...


class Effects(Protocol):
    """The ledger as a task sees it."""

    async def perform(
        self,
        contract: EffectContract,
        request: Mapping[str, Any],
        call: EffectCall,
        *,
        estimate: Usage = NO_COST,
    ) -> Done:
        """Have `call` executed once for this job, however often this is asked for; it costs `estimate`.

        `request` is what identifies the call (JSON-able; only its hash is stored). An effect done with the
        same request is answered from the ledger. Whatever else this raises is the worker's to handle: a
        task lets it pass.
        """
        ...

    async def disprove(self, contract: EffectContract, code: str) -> None:
        """Record that what was executed came to nothing, as its provider says: `perform` may begin anew.

        `code` says why, in our own words.
        """
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """An EffectCall from two functions; without `ask` the provider cannot be asked."""

    do: Callable[[str], Awaitable[Done]]
    ask: Callable[[str], Awaitable[Done | None]] | None = None

    async def send(self, key: str) -> Done:
        return await self.do(key)

    async def look_up(self, key: str) -> Done | None:
        if self.ask is None:
            raise NotImplementedError("The contract says that this provider cannot be asked.")
        return await self.ask(key)
