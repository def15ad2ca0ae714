"""Which of a dead job's effects have no known outcome, judged from the ledger and not from the category."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.effects.records import EffectRecord, EffectState, effect_row, latest, read_effect
from shared.jobs import Job
from shared.ports import Row, RowKind
from shared.services import Services


@dataclass(frozen=True, slots=True)
class OpenEffects:
    """`unknown` maps each action without a known outcome to its intent (None if that is not stored).

    `learned` are outcomes that a worker saw after it had lost its claim: they end an intent, but the job's
    row does not say so yet.
    """

    unknown: dict[str, EffectRecord | None]
    learned: tuple[EffectRecord, ...]

    def rows(self) -> list[Row]:
        """What was learned, as the records of the ledger that it becomes with the next write."""
        return [effect_row(replace(record, late=False)) for record in self.learned]


async def open_effects(services: Services, job: Job) -> OpenEffects:
    """Read the ledger of `job`. Read after the job's row, so that the row's version guards what follows."""
    if not job.open_effects:
        return OpenEffects({}, ())
    rows = await services.jobs.rows(job.job_id, RowKind.EFFECT)
    return judge_effects(job, [read_effect(row) for row in rows])


async def said_to_be_done(services: Services, job: Job, action: str) -> EffectRecord | None:
    """The record of an effect that is done by a person's word alone, which a person may correct.

    What a provider's answer or a worker says is not to be corrected. Read after the job's row.
    """
    rows = await services.jobs.rows(job.job_id, RowKind.EFFECT)
    record = latest([read_effect(row) for row in rows], action)
    if record is None or record.late or record.operator is None or record.state is not EffectState.DONE:
        return None
    return record


def judge_effects(job: Job, records: Sequence[EffectRecord]) -> OpenEffects:
    """An action of the row is open while its last generation has an intent and nothing later."""
    found = {action: latest(records, action) for action in job.open_effects}
    unknown = {
        action: record
        for action, record in found.items()
        if record is None or record.state is EffectState.INTENDED
    }
    learned = tuple(record for action, record in found.items() if record is not None and record.late)
    return OpenEffects(unknown, learned)
