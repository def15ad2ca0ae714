"""The worker: what happens for one message, from the queue to an outcome.

It returns when the message may be completed and raises when the platform should deliver it again; messages
of dead jobs are raised until the broker puts them in the dead-letter queue.
"""

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, assert_never

from shared.decisions import Rules
from shared.errors import (
    AfterhookError,
    ClaimLost,
    Conflict,
    DeadLettered,
    JobCancelled,
    NewerSchema,
    StorageUnavailable,
    UnknownTask,
)
from shared.failpoints import Point, reach
from shared.finishing import finish
from shared.jobs import Job, JobState
from shared.limits.slots import tenant_slot
from shared.messages import JobMessage, read_message
from shared.notify.outbox import outbox_rows
from shared.nudges import after_outage, hold_while_bus_is_away, nudge_or_hold
from shared.pipeline.policies import PollPolicy
from shared.ports import Snapshot
from shared.records import RecordUnreadable
from shared.retry import BackoffList, RetryPolicy
from shared.services import Services
from shared.tasks.base import TaskResult, Waiting
from shared.worker.admission import (
    Admission,
    AlreadyDead,
    Claimable,
    Crashed,
    Finished,
    NoSuchJob,
    NotYet,
    Stale,
    admit,
)
from shared.worker.attempt import Ended, attempt
from shared.worker.claims import Claim
from shared.worker.outcomes import conclude, step_back, succeed
from shared.worker.results import store_result, stored_result

log = logging.getLogger("afterhook.worker")
NEWER_VERSION_PAUSE = timedelta(minutes=5)
NO_RETRY = RetryPolicy(attempts=1, deadline=timedelta(0), backoff=BackoffList((timedelta(0),)), jitter=0.0)
_NO_RULES = Rules(retry=NO_RETRY, poll=PollPolicy())
_CLAIM_TRIES = 5


class Worker:
    """Handles the messages of the jobs queue."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def handle(self, body: bytes, properties: Mapping[str, Any], message_id: str | None) -> None:
        """Carry the message's job as far as it goes now.

        Raises UnreadableMessage or DeadLettered for a message that belongs in the dead-letter queue, and
        QueueUnavailable when both storage and bus stay away.
        """
        services = self._services
        try:
            message = read_message(body, properties)
        except NewerSchema:
            await self._delay_newer(body, properties, message_id)
            return
        try:
            await self._handle(message)
        except StorageUnavailable:
            services.telemetry.count("storage_away", where="worker")
            await nudge_or_hold(services, message, after_outage(services))
        except RecordUnreadable as error:
            log.error("%s waits for a newer version: %s", message.job_id, error)
            services.telemetry.count("records_unreadable")
            await nudge_or_hold(services, message, services.clock.now() + NEWER_VERSION_PAUSE)

    async def _delay_newer(self, body: bytes, properties: Mapping[str, Any], message_id: str | None) -> None:
        services = self._services
        at = services.clock.now() + NEWER_VERSION_PAUSE
        kept = {name: value for name, value in properties.items() if isinstance(value, str | int)}
        again = f"{(message_id or 'message').split('~')[0]}~{services.randomness.token()}"

        async def send() -> None:
            await services.bus.send_raw(body, kept, message_id=again, at=at)

        await hold_while_bus_is_away(services, send)

    async def _handle(self, message: JobMessage) -> None:
        """Admit the message; a claim that loses the race is decided anew on the row as it is then."""
        services, token = self._services, self._services.randomness.token()
        for _ in range(_CLAIM_TRIES):
            snapshot = await services.jobs.load(message.job_id)
            if snapshot is not None and _holds(snapshot.job, token):
                await self._run(snapshot)
                return
            admission = self._admit(message, snapshot, token)
            try:
                claimed = await self._act(message, snapshot, admission)
            except Conflict:
                continue
            if claimed is not None:
                await self._run(claimed)
            return
        await nudge_or_hold(services, message, after_outage(services))

    def _admit(self, message: JobMessage, snapshot: Snapshot | None, token: str) -> Admission:
        task_type = snapshot.job.task_type if snapshot else message.task_type
        return admit(
            message,
            snapshot,
            lease_token=token,
            lease_for=self._lease_for(task_type),
            worker=self._services.worker,
            app_version=self._services.app_version,
        )

    def _lease_for(self, task_type: str) -> timedelta:
        policy = self._services.pipeline.tasks.get(task_type)
        timeout = policy.attempt_timeout if policy else timedelta(0)
        return timeout + timedelta(seconds=self._services.settings.lease_margin_seconds)

    async def _act(
        self, message: JobMessage, snapshot: Snapshot | None, admission: Admission
    ) -> Snapshot | None:
        """Do what was admitted; the claimed job if there is one to run. Raises Conflict for a lost race."""
        services = self._services
        match admission:
            case NoSuchJob():
                raise DeadLettered(message.job_id, "no_such_job") from None
            case Finished():
                assert snapshot is not None
                await finish(services, snapshot.job, message.release)
            case Stale():
                services.telemetry.count("stale_messages")
            case AlreadyDead():
                raise DeadLettered(message.job_id, "already_dead") from None
            case NotYet(until):
                await nudge_or_hold(services, message, until)
                await reach(Point.WORKER_AFTER_NUDGE)
            case Crashed(job):
                assert snapshot is not None
                assert job.failure is not None
                code = job.failure.code
                rows = [services.timeline(job, "dead", code=code), *outbox_rows(services, job)]
                await services.jobs.commit(snapshot, job, rows)
                await reach(Point.WORKER_AFTER_DEAD)
                services.telemetry.count("jobs_dead", task_type=job.task_type, code=code)
                raise DeadLettered(message.job_id, code) from None
            case Claimable(job):
                assert snapshot is not None
                await reach(Point.WORKER_BEFORE_CLAIM)
                return await self._claim(snapshot, job)
            case _:
                assert_never(admission)
        return None

    async def _claim(self, snapshot: Snapshot, job: Job) -> Snapshot:
        """Write the claim. Where its answer was lost, the row says whether it is ours."""
        services = self._services
        # What comes again and again is not told one by one: the timeline must not grow with it.
        rows = [] if job.comes_again else [services.timeline(job, "started")]
        try:
            return await services.jobs.commit(snapshot, job, rows)
        except StorageUnavailable:
            reread = await services.jobs.load(job.job_id)
            if reread is None or job.lease is None or not _holds(reread.job, job.lease.token):
                raise
            return reread

    async def _run(self, claimed: Snapshot) -> None:
        """The claim is ours: run the task and make its outcome last, or give the claim back."""
        services = self._services
        claim = Claim(services, claimed, services.clock.now() + _lease_left(claimed))
        try:
            await self._carry(claim)
        except ClaimLost:
            services.telemetry.count("claims_lost", task_type=claim.job.task_type)
        except StorageUnavailable:
            if claim.job.state is JobState.RUNNING:
                await step_back(services, claim.snapshot)
            raise

    async def _carry(self, claim: Claim) -> None:
        await reach(Point.WORKER_AFTER_CLAIM)
        services, job = self._services, claim.job
        if not (job.attempt or job.comes_again):
            services.telemetry.observe("start_delay_seconds", _waited(job, services.clock.now()))
        task, policy = services.tasks.get(job.task_type), services.pipeline.tasks.get(job.task_type)
        if task is None or policy is None:
            await conclude(claim, UnknownTask(_not_deployed(job)), _NO_RULES)
            return
        rules = Rules(retry=policy.retry, poll=policy.poll)
        if job.cancel_requested and not job.open_effects:
            await conclude(claim, JobCancelled(), rules)
            return
        if job.claim > 1:
            earlier = await claim.outlast_outage(lambda: stored_result(services, job))
            if earlier is not None:
                await succeed(claim, earlier)
                return
        ended: Ended
        try:
            async with tenant_slot(services, job, claim.until):
                ended = await attempt(claim, task, policy)
        except (StorageUnavailable, ClaimLost):
            raise
        except AfterhookError as error:
            ended = error
        await self._end(claim, ended, rules)

    async def _end(self, claim: Claim, ended: Ended, rules: Rules) -> None:
        services = self._services
        match ended:
            case TaskResult():
                await reach(Point.WORKER_BEFORE_RESULT_BLOB)
                stored = await claim.outlast_outage(lambda: store_result(services, claim.job, ended))
                await reach(Point.WORKER_AFTER_RESULT_BLOB)
                await succeed(claim, stored)
            case Waiting() | AfterhookError():
                log.info("attempt of %s ended: %s", claim.job.job_id, ended.code)
                await conclude(claim, ended, rules)
            case _:
                assert_never(ended)


def _holds(job: Job, token: str) -> bool:
    """Whether our own claim was applied although its answer was lost."""
    return job.state is JobState.RUNNING and job.lease is not None and job.lease.token == token


def _lease_left(claimed: Snapshot) -> timedelta:
    """By storage time, which has whole seconds."""
    assert claimed.job.lease is not None
    return claimed.job.lease.until - claimed.read_at - timedelta(seconds=1)


def _waited(job: Job, now: datetime) -> float:
    return max(0.0, (now - job.released_at).total_seconds())


def _not_deployed(job: Job) -> str:
    return f"No task {job.task_type!r} is deployed or configured. Deploy it, or add it to pipeline.toml."
