"""The ledger's records: one row for each action and generation, in the job's own partition."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from shared.ports import Row, RowKind
from shared.records import data_from_text, from_text, to_text


class EffectState(StrEnum):
    """What is known of an effect. `INTENDED` without anything later is the unknown outcome."""

    INTENDED = "intended"
    DONE = "done"
    NOT_EXECUTED = "not_executed"  # the provider did not take it: the same generation may be sent
    FAILED = "failed"  # executed and come to nothing, or judged so: a new generation may begin


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRecord:
    """One generation of an action. `call_until` is when the call has ended at the latest."""

    action: str
    generation: int
    state: EffectState
    key: str
    provider: str
    contract_version: int
    request_sha256: str
    release: int
    intended_at: datetime
    call_until: datetime
    external_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    code: str | None = None
    operator: str | None = None  # who decided its outcome, where a person did
    late: bool = False  # seen by a worker that had lost its claim: kept beside the record, never over it


def effect_key(job_id: str, action: str, generation: int) -> str:
    """The idempotency key that goes to the provider: the same for every attempt of one generation."""
    return f"{job_id}:{action}" + (f":g{generation}" if generation else "")


def request_hash(request: Mapping[str, Any]) -> str:
    """The identity of a request: a hash of its canonical JSON.

    Raises ValueError for what JSON cannot carry.
    """
    text = json.dumps(
        dict(request), sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()


def effect_row(record: EffectRecord) -> Row:
    """The row of `record`; a late one has a row of its own."""
    key = f"{record.action}-{record.generation:04d}" + ("-late" if record.late else "")
    return Row(kind=RowKind.EFFECT, key=key, data=data_from_text(to_text(record)))


def read_effect(row: Row) -> EffectRecord:
    """The record of a row. Raises RecordUnreadable."""
    return from_text(EffectRecord, json.dumps(dict(row.data)))


def latest(records: Iterable[EffectRecord], action: str) -> EffectRecord | None:
    """What is known of the last generation of `action`, counting what a late worker saw."""
    own = [record for record in records if record.action == action]
    if not own:
        return None
    generation = max(record.generation for record in own)
    last = [record for record in own if record.generation == generation]
    return min(last, key=_weight)


def _weight(record: EffectRecord) -> int:
    """A late sight of a result outweighs an open intent, and a "not executed" that no person said."""
    if record.late:
        return 1
    told = record.state is EffectState.NOT_EXECUTED and record.operator is None
    return 2 if told or record.state is EffectState.INTENDED else 0
