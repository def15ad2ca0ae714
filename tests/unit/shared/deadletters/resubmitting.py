"""Resubmits of one operator."""

from dataclasses import replace

import pytest

from shared.deadletters.decisions import Decision
from shared.deadletters.refusals import Refusal
from shared.deadletters.release import Released
from shared.deadletters.resubmit import Resubmission, resubmit
from shared.jobs import Job
from shared.services import Services

DECISION = Decision(operator="ada", reason="The document is there now.")
KEYED = replace(DECISION, idempotency_key="key-1")


async def refused(
    services: Services, job_id: str, kind: type[Refusal], wanted: Resubmission | None = None
) -> None:
    with pytest.raises(kind):
        await resubmit(services, job_id, DECISION, wanted or Resubmission())


async def again(services: Services, job: Job, decision: Decision = DECISION) -> Released:
    return await resubmit(services, job.job_id, decision, Resubmission())
