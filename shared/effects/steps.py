"""What the ledger allows next for one effect: a pure decision on its last record."""

from dataclasses import dataclass
from datetime import datetime

from shared.effects.contract import Done, EffectContract
from shared.effects.records import EffectRecord, EffectState


@dataclass(frozen=True, slots=True)
class Stored:
    """It is done: the ledger has the answer."""

    done: Done


@dataclass(frozen=True, slots=True)
class Begin:
    """Nothing of this generation happened: write the intent, then call."""

    generation: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """An intent stands without a result, and the same call with the same key cannot do harm."""

    record: EffectRecord


@dataclass(frozen=True, slots=True)
class LookUp:
    """An intent stands without a result: the provider is asked by our reference.

    That it has nothing counts only from `conclusive_at` on: the call may still be on its way before.
    """

    record: EffectRecord
    conclusive_at: datetime


@dataclass(frozen=True, slots=True)
class Unknown:
    """An intent stands without a result, and nobody can tell: a person must decide."""

    record: EffectRecord


@dataclass(frozen=True, slots=True)
class Changed:
    """It was done for another request in this very release: the task does not say twice the same."""


Step = Stored | Begin | Repeat | LookUp | Unknown | Changed


def next_step(
    record: EffectRecord | None, request_sha256: str, contract: EffectContract, release: int, now: datetime
) -> Step:
    """Decide for an effect whose last record is `record`, asked for by a run of `release`.

    An operator's resubmit (a later release) may ask for something else, or for what was refused; within a
    release only a proven failure begins anew. A used key is never reused for another request.
    """
    if record is None:
        return Begin(0)
    same, later = record.request_sha256 == request_sha256, release > record.release
    match record.state:
        case EffectState.INTENDED:
            return _unfinished(record, contract, now, same=same)
        case EffectState.DONE if same:
            return Stored(Done(external_id=record.external_id or "", data=record.data))
        case EffectState.DONE:
            return Begin(record.generation + 1) if later else Changed()
        case EffectState.NOT_EXECUTED:
            return Begin(record.generation if same and not later else record.generation + 1)
        case EffectState.FAILED:
            return Begin(record.generation + 1)


def _unfinished(record: EffectRecord, contract: EffectContract, now: datetime, *, same: bool) -> Step:
    if same and may_repeat(record, contract, now):
        return Repeat(record)
    if contract.lookup_lag is not None:
        return LookUp(record, record.call_until + contract.lookup_lag)
    return Unknown(record)


def may_repeat(record: EffectRecord, contract: EffectContract, now: datetime) -> bool:
    """Whether the call may be made again with its key: it would end within the provider's key window."""
    if contract.repeatable:
        return True
    window = contract.key_window
    return window is not None and now + contract.call_timeout <= record.intended_at + window
