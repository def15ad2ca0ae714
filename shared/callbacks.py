"""A provider's word that something may be ready: it ends a wait early, and changes nothing else.

Nothing that a callback says is believed or kept: the job looks for itself. One that comes before its submit
was recorded is refused, so that the provider tries again; polling makes good the one that never comes.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from shared.callback_tokens import CallbackToken, issue, looks_issued, read_token
from shared.errors import Conflict, RequestRefused
from shared.failpoints import Point, reach
from shared.jobs import Job, JobState
from shared.messages import JobMessage
from shared.pipeline.policies import PollPolicy
from shared.ports import Row, Snapshot
from shared.services import Services

PATH = "/api/callbacks/"
MARGIN = timedelta(days=1)
SPACING = timedelta(seconds=2)
"""However often a provider calls, a job is looked at this seldom."""
WAITING = frozenset({JobState.AWAITING_RESULT, JobState.OUTCOME_UNKNOWN})
_TRIES = 5


class BadToken(RequestRefused):
    """The address carries no valid token of this app."""

    code: ClassVar[str] = "bad_callback_token"
    status: ClassVar[int] = 401


class TokenExpired(RequestRefused):
    """The token in the address has expired; the job waits no longer."""

    code: ClassVar[str] = "callback_token_expired"
    status: ClassVar[int] = 401


class NoSuchJob(RequestRefused):
    """There is no such job."""

    code: ClassVar[str] = "job_not_found"
    status: ClassVar[int] = 404


class NotReady(RequestRefused):
    """The job's submit is not recorded yet. Try again."""

    code: ClassVar[str] = "not_ready"
    status: ClassVar[int] = 503
    headers = {"Retry-After": "5"}  # noqa: RUF012  never changed


class CallbacksOff(RequestRefused):
    """AFTERHOOK_CALLBACK_KEY is not set, so that no token can be checked. Try again."""

    code: ClassVar[str] = "callbacks_not_configured"
    status: ClassVar[int] = 503
    headers = {"Retry-After": "60"}  # noqa: RUF012  never changed


@dataclass(frozen=True, slots=True)
class CallbackTaken:
    """`hurried` is False when there was nothing to hurry: the job had ended, or went to a person."""

    hurried: bool


def callback_url_for(services: Services, job: Job) -> str | None:
    """Where a provider may call back for this job; None without PUBLIC_BASE_URL or AFTERHOOK_CALLBACK_KEY.

    The same for every attempt of one release, and another for the next: it belongs in no request hash.
    """
    base, secret = services.settings.public_base_url, _secret(services)
    if base is None or secret is None:
        return None
    token = CallbackToken(job_id=job.job_id, release=job.release, expires_at=_expiry(services, job))
    return base.rstrip("/") + PATH + issue(token, secret)


async def called_back(services: Services, text: str) -> CallbackTaken:
    """Take a callback whose address carries `text`.

    Raises one of the refusals above, StorageUnavailable or QueueUnavailable; only NotReady and the last two
    are worth another try.
    """
    token = _checked(services, text)
    for _ in range(_TRIES):
        snapshot = await services.jobs.load(token.job_id)
        if snapshot is None or token.release > snapshot.job.release:
            raise NoSuchJob
        job = snapshot.job
        if job.final or job.state is JobState.DEAD:
            return CallbackTaken(hurried=False)
        if job.state not in WAITING:
            raise NotReady
        try:
            await _hurry(services, snapshot)
        except Conflict:
            continue
        return CallbackTaken(hurried=True)
    raise NotReady


async def _hurry(services: Services, snapshot: Snapshot) -> None:
    """The wait ends now on the row, then the message comes.

    A crash in between leaves the turn that was scheduled. A repeat sends under the same id, so that
    duplicate detection keeps a busy caller from filling the queue.
    """
    job, now = snapshot.job, services.clock.now()
    at = max(now, job.updated_at + SPACING)
    if job.not_before is not None and job.not_before <= at:
        at = job.not_before
    elif job.not_before is not None:
        told = _told(services, job, now)
        await services.jobs.commit(snapshot, job.changed(now, not_before=at), [told])
    await reach(Point.CALLBACK_AFTER_WRITE)
    suffix = f"callback-{job.claim}"
    await services.bus.send(JobMessage.for_job(job), at=at if at > now else None, suffix=suffix)
    await reach(Point.CALLBACK_AFTER_NUDGE)


def _told(services: Services, job: Job, now: datetime) -> Row:
    """One row a minute, which tells of its latest callback: a busy caller must not make the timeline long."""
    return replace(services.timeline(job, "called_back", at=now), key=f"{now:%Y%m%dT%H%M}Z-called-back")


def _checked(services: Services, text: str) -> CallbackToken:
    secret = _secret(services)
    if not looks_issued(text):
        raise BadToken
    if secret is None:
        raise CallbacksOff
    token = read_token(text, secret)
    if token is None:
        raise BadToken
    if token.expires_at < services.clock.now():
        raise TokenExpired
    return token


def _secret(services: Services) -> bytes | None:
    key = services.settings.callback_key
    return None if key is None else key.get_secret_value().encode()


def _expiry(services: Services, job: Job) -> datetime:
    """When the job can no longer be waiting: its deadlines, which count from its release, and a margin."""
    policy = services.pipeline.tasks.get(job.task_type)
    longest = PollPolicy().deadline if policy is None else policy.poll.deadline + policy.retry.deadline
    return job.released_at + longest + MARGIN
