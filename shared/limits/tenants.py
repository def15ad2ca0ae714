"""Whose jobs are counted together, and the limits for them."""

import hashlib
import json
from dataclasses import dataclass

from shared.jobs import Job
from shared.pipeline.policies import LimitBy, TenantLimits
from shared.services import Services


@dataclass(frozen=True, slots=True)
class Tenant:
    """Jobs that are counted together, and the limits for them."""

    key: str
    limits: TenantLimits


def tenants_of(services: Services, job: Job) -> list[Tenant]:
    """Whom `job` counts for: its source or user as the source's limits say, and as its task's say."""
    source, task = services.pipeline.sources.get(job.source), services.pipeline.tasks.get(job.task_type)
    found = [
        *([_tenant("source", source.limits, job)] if source else []),
        *([_tenant(job.task_type, task.limits, job)] if task else []),
    ]
    return [one for one in found if one.limits != TenantLimits(by=one.limits.by)]


def _tenant(scope: str, limits: TenantLimits, job: Job) -> Tenant:
    """Jobs without a user are one tenant. Names are hashed: a storage key takes not every character."""
    user = (job.user_id or "") if limits.by is LimitBy.USER else None
    name = json.dumps([scope, job.source, user]).encode()
    return Tenant(hashlib.sha256(name).hexdigest()[:40], limits)
