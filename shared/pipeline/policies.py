"""From the document that pipeline.toml is to the policies that the application uses."""

import fnmatch
import re
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

import jmespath

from shared.pipeline import document as shape
from shared.pipeline.model import ApiPolicy, Expression, Pipeline, Route, SourcePolicy, TaskPolicy
from shared.retry import Backoff, BackoffCurve, BackoffList, RetryPolicy
from shared.webhooks.base import Options


def pipeline_of(document: shape.Document, options: Mapping[str, Options]) -> Pipeline:
    """The pipeline of a document without mistakes, with each source's options."""
    tasks = {
        name: _task(name, section)
        for name in shape.TasksSection.model_fields
        if (section := getattr(document.tasks, name)) is not None
    }
    sources = {name: _source(name, section, options[name]) for name, section in document.sources.items()}
    api = ApiPolicy(
        allowed_inputs=tuple(document.api.allowed_inputs),
        max_input=document.api.max_input,
        users=document.api.users,
    )
    return Pipeline(sources=MappingProxyType(sources), tasks=MappingProxyType(tasks), api=api)


def _task(name: str, section: shape.SummarizeDocumentSection) -> TaskPolicy:
    retry = section.retry
    return TaskPolicy(
        name=name,
        attempt_timeout=section.attempt_timeout,
        max_document=section.max_document,
        sentences=section.sentences,
        retry=RetryPolicy(
            attempts=retry.attempts,
            deadline=retry.deadline,
            backoff=_backoff(retry.backoff),
            jitter=retry.jitter,
        ),
    )


def _backoff(section: list[timedelta] | shape.CurveSection) -> Backoff:
    if isinstance(section, list):
        return BackoffList(tuple(section))
    return BackoffCurve(base=section.base, factor=section.factor, cap=section.cap)


def _source(name: str, section: shape.SourceSection, options: Options) -> SourcePolicy:
    return SourcePolicy(
        name=name,
        scheme=section.scheme,
        secrets=tuple(section.secrets),
        max_body=section.max_body,
        tolerance=section.tolerance,
        allowed_inputs=tuple(section.allowed_inputs),
        routes=tuple(_route(route) for route in section.routes),
        users=section.users,
        options=options,
    )


def _route(section: shape.RouteSection) -> Route:
    return Route(
        event=section.event,
        pattern=re.compile(fnmatch.translate(section.event)),
        task=section.task,
        input_ref=_compiled(section.input_ref),
        input=_compiled(section.input),
        user=_compiled(section.user),
        keep=_compiled(section.keep),
    )


def _compiled(expression: str | None) -> Expression | None:
    return None if expression is None else jmespath.compile(expression)
