"""What an effect's record means for its job's row: what is open, and since when something is waited for."""

from datetime import datetime

from shared.effects.contract import EffectContract
from shared.effects.records import EffectRecord, EffectState
from shared.jobs import Job


def with_record(job: Job, contract: EffectContract, record: EffectRecord, now: datetime) -> Job:
    """The job's row as it goes with `record`, in one batch."""
    is_open = record.state is EffectState.INTENDED
    if is_open and record.action in job.open_effects:  # a repeat: the wait for its outcome goes on
        return job.changed(now)
    others = tuple(name for name in job.open_effects if name != record.action)
    return job.changed(
        now,
        open_effects=(*others, record.action) if is_open else others,
        waits=0,
        put_offs=0,
        interruptions=0,
        waiting_since=now if goes_on(contract, record) else None,
    )


def goes_on(contract: EffectContract, record: EffectRecord) -> bool:
    """Whether the outside works on it, as it said itself.

    An id that a person gave may be mistyped: until an answer about it lets the job wait, what fails spends
    attempts.
    """
    return contract.long_running and record.state is EffectState.DONE and record.operator is None
