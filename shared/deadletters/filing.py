"""Filing a case: idempotent, so that whoever finds a dead job may file it, and a crash is made good later.

Order: the case, its group, the mark on the job's row, and last the open row. Until the open row is gone the
sweep comes back. It stays while the job's end is still to be announced, which only a message does.
"""

import hashlib
from dataclasses import replace

from shared.deadletters.alerting import alert
from shared.deadletters.ports import Case, CaseState
from shared.errors import Conflict
from shared.failpoints import Point, reach
from shared.finishing import settle_cases
from shared.jobs import Category, Job, JobState
from shared.notify.outbox import owed
from shared.ports import Snapshot
from shared.services import Services

_TRIES = 5


def fingerprint_of(task_type: str, code: str) -> str:
    """The kind of failure: what failed and how."""
    return f"{task_type}.{code}"


def case_of(job: Job) -> Case:
    """The open case of a dead job."""
    failure = job.failure
    assert failure is not None, "a dead job carries its failure"
    return Case(
        job_id=job.job_id,
        release=job.release,
        state=CaseState.OPEN,
        category=failure.category,
        code=failure.code,
        message=failure.message,
        task_type=job.task_type,
        source=job.source,
        fingerprint=fingerprint_of(job.task_type, failure.code),
        attempts=failure.attempts,
        dead_at=failure.at,
        input_ref=failure.input_ref,
    )


async def file_case(services: Services, snapshot: Snapshot) -> None:
    """File the case of the dead job in `snapshot`, and alert if its kind of failure is new."""
    job = snapshot.job
    await settle_cases(services, job)
    await _record(services, case_of(job))
    if not await _mark(services, snapshot):
        return
    await reach(Point.CASE_AFTER_JOB_MARKED)
    if await owed(services, job) is None:
        await services.open_index.remove(job.job_id, job.release)


async def file_unreadable(
    services: Services, *, sequence_number: int, body: bytes, code: str, message: str
) -> None:
    """Keep the bytes of a message that names no readable job, and file a case for it.

    The bytes go to protected storage, under a name that holds their hash: a queue made anew counts its
    sequence numbers from one again.
    """
    sha = hashlib.sha256(body).hexdigest()
    ref = f"protected/unreadable/msg_{sequence_number}/{sha}"
    await services.blobs.put_if_absent(ref, body, "application/octet-stream")
    case = Case(
        job_id=f"msg_{sequence_number}",
        release=0,
        state=CaseState.OPEN,
        category=Category.UNREADABLE,
        code=code,
        message=message,
        task_type="unknown",
        source="queue",
        fingerprint=fingerprint_of("unknown", code),
        attempts=0,
        dead_at=services.clock.now(),
        input_ref=ref,
    )
    earlier = await services.cases.get(case.job_id)
    if earlier is not None and earlier.input_ref != ref:
        case = replace(case, job_id=f"msg_{sequence_number}_{sha[:8]}")
    await _record(services, case)


async def _record(services: Services, case: Case) -> None:
    if await services.cases.file(case):
        services.telemetry.count("cases_filed", code=case.code, category=case.category.value)
    await reach(Point.CASE_AFTER_CASE_ROW)
    group = await services.groups.add(case)
    await reach(Point.CASE_AFTER_GROUP)
    if not group.alerted and group.count == 1:
        await alert(services, group)


async def _mark(services: Services, snapshot: Snapshot) -> bool:
    """Write on the job's row that its case is filed; False if the job has moved on meanwhile."""
    current = snapshot
    for _ in range(_TRIES):
        job = current.job
        if job.case_filed:
            return True
        now = services.clock.now()
        filed = job.changed(now, case_release=job.release)
        try:
            await services.jobs.commit(current, filed, [services.timeline(job, "case_filed", at=now)])
        except Conflict:
            reread = await services.jobs.load(job.job_id)
            if reread is None or reread.job.state is not JobState.DEAD or reread.job.release != job.release:
                return False
            current = reread
        else:
            return True
    raise Conflict(f"{snapshot.job.job_id}: the row changed {_TRIES} times while its case was filed.")
