"""What the ledger knows of one effect."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from shared.effects.records import EffectRecord, EffectState
from tests.support.fakes.time import START


def record(state: EffectState, **changes: Any) -> EffectRecord:
    base = EffectRecord(
        action="submit",
        generation=0,
        state=state,
        key="job_1:submit",
        provider="video",
        contract_version=1,
        request_sha256="same",
        release=0,
        intended_at=START,
        call_until=START + timedelta(seconds=30),
    )
    return replace(base, **changes)
