"""From the shape of pipeline.toml to the policies that the application uses. Nothing can fail here."""

import fnmatch
import re
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

import jmespath

from shared.pipeline import document as shape
from shared.pipeline import sections
from shared.pipeline.model import ApiPolicy, Expression, Pipeline, Route, SourcePolicy
from shared.pipeline.policies import (
    BreakerPolicy,
    BudgetPolicy,
    LimitBy,
    NotifyPolicy,
    OutboundPolicy,
    PollPolicy,
    PricePolicy,
    Publish,
    RetentionPolicy,
    TaskPolicy,
    TenantLimits,
)
from shared.pipeline.task_sections import TASK_SECTIONS, TaskSection
from shared.retry import Backoff, BackoffCurve, BackoffList, RetryPolicy
from shared.tasks.options import TASK_OPTIONS
from shared.webhooks.base import Options


def build_pipeline(document: shape.Document, options: Mapping[str, Options]) -> Pipeline:
    """The pipeline of a valid document; `options` are the sources' own, by source."""
    tasks = {
        name: _task(name, section)
        for name in TASK_SECTIONS
        if (section := getattr(document.tasks, name)) is not None
    }
    sources = {name: _source(name, section, options[name]) for name, section in document.sources.items()}
    return Pipeline(
        sources=MappingProxyType(sources),
        tasks=MappingProxyType(tasks),
        api=ApiPolicy(
            allowed_inputs=tuple(document.api.allowed_inputs),
            max_input=document.api.max_input,
            users=document.api.users,
        ),
        outbound=OutboundPolicy(allowed_hosts=tuple(document.outbound.allowed_hosts)),
        retention=RetentionPolicy(inputs=document.retention.inputs, results=document.retention.results),
        prices=MappingProxyType({model: _price(price) for model, price in document.prices.items()}),
        providers=MappingProxyType({name: _breaker(part) for name, part in document.providers.items()}),
    )


def _task(name: str, section: TaskSection) -> TaskPolicy:
    retry, poll, budget = section.retry, section.poll, section.budget
    own = TASK_OPTIONS[name]
    return TaskPolicy(
        name=name,
        attempt_timeout=section.attempt_timeout,
        slow_after=section.slow_after,
        publish=Publish(section.publish),
        retry=RetryPolicy(
            attempts=retry.attempts,
            deadline=retry.deadline,
            backoff=_backoff(retry.backoff),
            jitter=retry.jitter,
        ),
        poll=PollPolicy(deadline=poll.deadline, backoff=_backoff(poll.backoff), jitter=poll.jitter),
        budget=BudgetPolicy(
            job_tokens=budget.job_tokens,
            job_micros=budget.job_money,
            day_tokens=budget.day_tokens,
            day_micros=budget.day_money,
        ),
        limits=_limits(section.limits),
        options=own.model_construct(**{field: getattr(section, field) for field in own.model_fields}),
    )


def _backoff(section: list[timedelta] | sections.CurveSection) -> Backoff:
    return BackoffList(tuple(section)) if isinstance(section, list) else _curve(section)


def _curve(section: sections.CurveSection) -> BackoffCurve:
    return BackoffCurve(base=section.base, factor=section.factor, cap=section.cap)


def _limits(section: sections.LimitsSection) -> TenantLimits:
    return TenantLimits(concurrent=section.concurrent, per_minute=section.per_minute, by=LimitBy(section.by))


def _price(section: sections.PriceSection) -> PricePolicy:
    return PricePolicy(input_micros=section.input, output_micros=section.output, second_micros=section.second)


def _breaker(section: sections.BreakerSection) -> BreakerPolicy:
    return BreakerPolicy(failures=section.failures, rest=_curve(section.rest))


def _source(name: str, section: shape.SourceSection, options: Options) -> SourcePolicy:
    return SourcePolicy(
        name=name,
        scheme=section.scheme,
        secrets=tuple(section.secrets),
        max_body=section.max_body,
        tolerance=section.tolerance,
        allowed_inputs=tuple(section.allowed_inputs),
        notify=_notify(section.notify),
        limits=_limits(section.limits),
        users=section.users,
        routes=tuple(_route(route) for route in section.routes),
        options=options,
    )


def _notify(section: sections.NotifySection | None) -> NotifyPolicy | None:
    return None if section is None else NotifyPolicy(url=section.url, secret=section.secret)


def _route(section: shape.RouteSection) -> Route:
    return Route(
        event=section.event,
        pattern=re.compile(fnmatch.translate(section.event)),
        task=section.task,
        delay=section.delay,
        input_ref=_compiled(section.input_ref),
        input=_compiled(section.input),
        user=_compiled(section.user),
        keep=_compiled(section.keep),
    )


def _compiled(expression: str | None) -> Expression | None:
    return None if expression is None else jmespath.compile(expression)
