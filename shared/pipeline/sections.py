"""The tables of pipeline.toml that say how jobs are limited, paid for, told of and kept."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from shared.pipeline.values import Deadline, Delay, Host, Money, Retention, SettingName, WebAddress

Count = Annotated[int, Field(ge=1, le=1_000_000_000_000)]


class Section(BaseModel):
    """One table: unknown keys are problems."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class CurveSection(Section):
    base: Delay
    factor: Annotated[float, Field(ge=1, le=10, allow_inf_nan=False)]
    cap: Delay


BACKOFF_TAGS = frozenset({"backoff-list", "backoff-curve"})


def _backoff_tag(value: object) -> str:
    return "backoff-curve" if isinstance(value, dict | CurveSection) else "backoff-list"


BackoffSection = Annotated[
    Annotated[list[Delay], Field(min_length=1, max_length=50), Tag("backoff-list")]
    | Annotated[CurveSection, Tag("backoff-curve")],
    Discriminator(_backoff_tag),
]
Jitter = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class RetrySection(Section):
    attempts: Annotated[int, Field(ge=1, le=100)] = 5
    deadline: Deadline = timedelta(hours=24)
    backoff: BackoffSection = CurveSection.model_validate({"base": "5s", "factor": 2, "cap": "5m"})
    jitter: Jitter = 0.2


class PollSection(Section):
    deadline: Deadline = timedelta(hours=2)
    backoff: BackoffSection = CurveSection.model_validate({"base": "5s", "factor": 1.5, "cap": "2m"})
    jitter: Jitter = 0.2


class BudgetSection(Section):
    job_tokens: Count | None = None
    job_money: Money | None = None
    day_tokens: Count | None = None
    day_money: Money | None = None


class LimitsSection(Section):
    concurrent: Annotated[int, Field(ge=1, le=1000)] | None = None
    per_minute: Annotated[int, Field(ge=1, le=100_000)] | None = None
    by: Literal["source", "user"] = "source"


class NotifySection(Section):
    url: WebAddress
    secret: SettingName


class OutboundSection(Section):
    allowed_hosts: Annotated[list[Host], Field(max_length=100)] = []


class RetentionSection(Section):
    inputs: Retention | None = None
    results: Retention | None = None


class PriceSection(Section):
    """Money for a million tokens in and out, and for a second of video."""

    input: Money = 0
    output: Money = 0
    second: Money = 0


class BreakerSection(Section):
    failures: Annotated[int, Field(ge=1, le=1000)] = 3
    rest: CurveSection = CurveSection.model_validate({"base": "15s", "factor": 2, "cap": "5m"})
