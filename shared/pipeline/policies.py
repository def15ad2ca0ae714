"""The policies of pipeline.toml that are not about webhooks: how tasks run, wait, cost and are told of."""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from shared.pipeline.task_options import TaskOptions
from shared.retry import Backoff, BackoffCurve, RetryPolicy

POLL_BACKOFF = BackoffCurve(base=timedelta(seconds=5), factor=1.5, cap=timedelta(minutes=2))
REST = BackoffCurve(base=timedelta(seconds=15), factor=2, cap=timedelta(minutes=5))


@dataclass(frozen=True, slots=True, kw_only=True)
class PollPolicy:
    """How often, and for how long in all, a job waits for the outside (a result, or an unknown outcome)."""

    deadline: timedelta = timedelta(hours=2)
    backoff: Backoff = POLL_BACKOFF
    jitter: float = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPolicy:
    """Upper limits; None is none. Money is in millionths of the currency unit that the prices are in."""

    job_tokens: int | None = None
    job_micros: int | None = None
    day_tokens: int | None = None
    day_micros: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PricePolicy:
    """What a model costs, in millionths of the currency unit: a million tokens, and a second of video."""

    input_micros: int = 0
    output_micros: int = 0
    second_micros: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """A provider rests after so many failures in a row, each time longer."""

    failures: int = 3
    rest: BackoffCurve = REST


class LimitBy(StrEnum):
    """Whose jobs are counted together."""

    SOURCE = "source"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantLimits:
    """How many jobs of one tenant run at once, and start in a minute; None is no limit."""

    concurrent: int | None = None
    per_minute: int | None = None
    by: LimitBy = LimitBy.SOURCE


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyPolicy:
    """Where a source's finished and dead jobs are announced; `secret` names the setting that signs."""

    url: str
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundPolicy:
    """The hosts that may be told of jobs (`host` or `host:port`)."""

    allowed_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """How long the contents of jobs that are over are kept; None is for ever. Decisions are always kept."""

    inputs: timedelta | None = None
    results: timedelta | None = None


class Publish(StrEnum):
    """When a result may be seen."""

    AT_ONCE = "at_once"
    AFTER_REVIEW = "after_review"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPolicy:
    """How a task is run, retried, waited for and paid; `options` is what its type alone needs."""

    name: str
    attempt_timeout: timedelta
    retry: RetryPolicy
    options: TaskOptions
    slow_after: timedelta = timedelta(seconds=8)
    poll: PollPolicy = field(default_factory=PollPolicy)
    budget: BudgetPolicy = field(default_factory=BudgetPolicy)
    publish: Publish = Publish.AT_ONCE
    limits: TenantLimits = field(default_factory=TenantLimits)
