"""What must hold once everything has settled."""

import hashlib
from collections import Counter
from collections.abc import Collection

from shared.deadletters.filing import fingerprint_of
from shared.deadletters.ports import CaseState
from shared.finishing import decision_key
from shared.jobs import Job, JobState, Review
from shared.notify.announcement import OutboxState
from shared.notify.outbox import WITHHELD, outbox_key
from shared.ports import RowKind
from tests.support.fakes import World

CRASHES = 5


class Broken(AssertionError):
    """The protocol broke a promise."""


def demand(condition: bool, text: str) -> None:
    if not condition:
        raise Broken(text)


async def check_settled(world: World, accepted: set[str], *, sweeping: bool = True) -> None:
    """Raises Broken unless the stored state keeps every promise."""
    if sweeping:
        demand(not world.open.keys(), f"open rows are left: {world.open.keys()}")
    jobs = {job.job_id: job for job in world.jobs.all_jobs()}
    demand(accepted <= set(jobs), "an accepted job is not stored")
    for job in jobs.values():
        await _check_job(world, job, job.job_id in accepted)
    await _check_cases(world, jobs, sweeping)
    if sweeping:
        _check_lists(world, jobs.values(), accepted)


def _check_lists(world: World, jobs: Collection[Job], accepted: set[str]) -> None:
    pending = {job.job_id for job in jobs if job.review is Review.PENDING}
    listed = {entry.job_id for entry in world.reviews.all_reviews()}
    demand(listed == pending, f"{pending} wait for a review, and {listed} are listed")
    settled = {job.job_id for job in jobs if job.settled}
    kept = {entry.job_id for entry in world.retention.all_ended()}
    known = accepted & settled <= kept <= settled
    demand(known, f"{settled} are settled, and retention knows of {kept}")


async def _check_job(world: World, job: Job, accepted: bool) -> None:
    if not accepted and job.state is JobState.QUEUED and job.claim == 0:
        return  # its sender was told to try again, and never did
    where = f"{job.job_id} (release {job.release})"
    demand(job.final or job.case_filed, f"{where} is left {job.state}")
    demand(job.crashes <= CRASHES, f"{where} was claimed after {job.crashes} crashes")
    for release in range(job.release):
        key = decision_key(release, CaseState.RESUBMITTED)
        decision = await world.jobs.row(job.job_id, RowKind.DECISION, key)
        demand(decision is not None, f"release {release} of {where} ended without a decision")
    if job.state is JobState.SUCCEEDED:
        _check_result(world, job)


def _check_result(world: World, job: Job) -> None:
    assert job.result is not None
    prefix = f"results/{job.job_id}/{job.release}-"
    stored = [ref for ref in world.blobs.refs() if ref.startswith(prefix)]
    demand(stored == [job.result.ref], f"{job.job_id} has results {stored}")
    content = world.blobs.content(job.result.ref)
    demand(hashlib.sha256(content).hexdigest() == job.result.sha256, "the result is not the recorded one")
    demand(len(content) == job.result.size, "the result has not the recorded size")


async def _check_cases(world: World, jobs: dict[str, Job], sweeping: bool) -> None:
    cases = world.cases.all_cases()
    for case in cases:
        job = jobs.get(case.job_id)
        if job is None:
            demand(case.job_id.startswith("msg_"), f"a case of no job: {case.job_id}")
            continue
        if case.release < job.release:
            expected = CaseState.RESUBMITTED
        else:
            expected = CaseState.CLOSED if job.state is JobState.CLOSED else CaseState.OPEN
            demand(job.state in {JobState.DEAD, JobState.CLOSED}, f"a case of a job that is {job.state}")
        demand(case.state is expected, f"the case of a {job.state} job is listed as {case.state}")
        decided = case.state is CaseState.OPEN or bool(case.operator and case.reason and case.decided_at)
        demand(decided, "a decided case does not say by whom and why")
    filed = {(case.job_id, case.release) for case in cases}
    for job in jobs.values():
        if job.state in {JobState.DEAD, JobState.CLOSED}:
            demand((job.job_id, job.release) in filed, f"{job.job_id} is {job.state} without a case")
    counts = Counter(case.fingerprint for case in cases)
    for case in cases:
        demand(case.fingerprint == fingerprint_of(case.task_type, case.code), "a case in a foreign group")
        group = world.groups.group(case.fingerprint)
        demand(group is not None and group.count == counts[case.fingerprint], "a group counts wrongly")
        demand(not sweeping or (group is not None and group.alerted), "a kind of failure was never told")


async def check_told(world: World) -> None:
    """Raises Broken unless every end that is to be announced was, or was given up. For told sources."""
    for job in world.jobs.all_jobs():
        row = await world.jobs.row(job.job_id, RowKind.OUTBOX, outbox_key(job.release))
        published = job.state is JobState.SUCCEEDED and job.review not in WITHHELD
        demand(row is not None or not (published or job.state is JobState.DEAD), f"{job.job_id} is not told")
        demand(row is None or row.data["state"] != OutboxState.OWED, f"{job.job_id} is still to be told")


def check_budgets(world: World, limits: dict[str, int]) -> None:
    """Raises Broken if more was spent than allowed. `limits` are in tokens, by the counter's kind."""
    for counter in world.budgets.counters():
        spent, limit = world.budgets.spent(counter)[0], limits[counter.partition(":")[0]]
        demand(spent <= limit, f"{spent} of {limit} tokens are spent in {counter}")
