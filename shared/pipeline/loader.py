"""Reads pipeline.toml: every problem at once, each with its line."""

import difflib
import fnmatch
import re
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jmespath
from pydantic import ValidationError

from shared.host_limits import HostLimits
from shared.pipeline import document as shape
from shared.pipeline.checks import Misfit, misfits
from shared.pipeline.lines import Path as KeyPath
from shared.pipeline.lines import line_of, scan_lines
from shared.pipeline.model import ApiPolicy, Expression, Pipeline, Route, SourcePolicy, TaskPolicy
from shared.pipeline.options import option_misfits, read_options, scheme_at, split_options
from shared.problems import Problem, configuration_error, shown
from shared.retry import Backoff, BackoffCurve, BackoffList, RetryPolicy
from shared.webhooks.base import Options

_SYNTAX = re.compile(r"(?P<reason>.*?) ?\(at (?:line (?P<line>\d+), column \d+|end of document)\)", re.DOTALL)
_NAMES_SECRETS = frozenset({"secrets", "shared_keys", "verify_token"})
"""The keys of a source whose values are the names of settings with secrets."""
_EXPECTED = {
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "too_long": "at most {max_length} entries",
    "too_short": "at least {min_length} entry",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "dict_type": "a table",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "a table",
    "model_type": "a table",
    "literal_error": "one of {expected}",
    "string_pattern_mismatch": "text of the form {pattern}",
    "string_too_long": "text of at most {max_length} characters",
    "string_too_short": "text of at least {min_length} characters",
    "string_type": "text",
}


def load_pipeline(path: Path, *, limits: HostLimits | None, lease_margin: timedelta) -> Pipeline:
    """The pipeline in the file `path`. Raises ConfigurationError with every problem."""
    pipeline, problems = read_pipeline(path, limits=limits, lease_margin=lease_margin)
    if pipeline is None:
        raise configuration_error(problems)
    return pipeline


def read_pipeline(
    path: Path, *, limits: HostLimits | None, lease_margin: timedelta
) -> tuple[Pipeline | None, list[Problem]]:
    """The pipeline, or every problem of the file. Without `limits` the host's times are not checked."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError:
        expected = f"a file at {path} (the setting AFTERHOOK_PIPELINE names another)"
        return None, [Problem(path.name, expected, "none that can be read")]
    except UnicodeDecodeError:
        return None, [Problem(path.name, "text in UTF-8", "other bytes")]
    text = text.replace("\r\n", "\n")
    try:
        raw = tomllib.loads(text)
    except ValueError as error:
        return None, [_syntax_problem(path.name, error)]
    except RecursionError:
        return None, [Problem(path.name, "valid TOML", "values nested too deeply")]
    common, given = split_options(raw)
    document, wrong = _validated(common, raw)
    options, unfit = read_options(given)
    wrong += [_misfit(details, raw) for details in unfit]
    wrong += misfits(raw, limits, lease_margin)
    wrong += option_misfits(raw, options)
    if document is None or wrong:
        return None, _located(path.name, text, wrong)
    return _pipeline(document, options), []


def _syntax_problem(name: str, error: ValueError) -> Problem:
    found = _SYNTAX.fullmatch(str(error))
    reason = found["reason"] if found else str(error)
    where = f"{name} line {found['line']}" if found and found["line"] else f"{name} at its end"
    return Problem(where, "valid TOML", f"a mistake ({reason})")


def _located(name: str, text: str, wrong: list[Misfit]) -> list[Problem]:
    lines = scan_lines(text)
    numbered = [(line_of(lines, misfit.path) or 0, misfit) for misfit in wrong]
    numbered.sort(key=lambda pair: pair[0])
    return [
        Problem(
            f"{name} line {line}: {_dotted(misfit.path)}" if line else f"{name}: {_dotted(misfit.path)}",
            misfit.expected,
            misfit.found,
        )
        for line, misfit in numbered
    ]


def _dotted(path: KeyPath) -> str:
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.removeprefix(".")


def _validated(
    common: Mapping[str, Any], raw: Mapping[str, Any]
) -> tuple[shape.Document | None, list[Misfit]]:
    try:
        return shape.Document.model_validate(common), []
    except ValidationError as error:
        return None, [_misfit(dict(details), raw) for details in error.errors(include_url=False)]


def _misfit(details: Mapping[str, Any], raw: Mapping[str, Any]) -> Misfit:
    path: KeyPath = tuple(key for key in details["loc"] if key not in shape.BACKOFF_TAGS)
    kind = details["type"]
    if kind == "extra_forbidden":
        return Misfit(path, _known_keys(path, raw), f"the unknown key {shown(path[-1])}")
    if kind == "missing":
        return Misfit(path, "this key", "none")
    if kind == "value_error":
        expected = str(details["ctx"]["error"])
    else:
        expected = _EXPECTED.get(kind, "another value").format(**details.get("ctx", {}))
    return Misfit(path, expected, _found(path, details["input"]))


def _found(path: KeyPath, value: object) -> str:
    """What stands there. Somebody may have written a secret where its setting's name belongs."""
    if not _NAMES_SECRETS.intersection(path[2:3]) or isinstance(value, int | float):
        return shown(value)
    if isinstance(value, list):
        return str(len(value))
    return "something else (not shown: it may be a secret)"


def _known_keys(path: KeyPath, raw: Mapping[str, Any]) -> str:
    known = shape.keys_at(path[:-1], scheme_at(raw, path))
    close = difflib.get_close_matches(str(path[-1]), known, n=1)
    if not known:
        return "no such key"
    hint = f" - did you mean {close[0]}?" if close else ""
    return f"one of {', '.join(known)}{hint}"


def _pipeline(document: shape.Document, options: Mapping[str, Options]) -> Pipeline:
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
