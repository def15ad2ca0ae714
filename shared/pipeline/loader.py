"""Reads pipeline.toml: every problem at once, each with its line."""

import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from shared.host_limits import HostLimits
from shared.pipeline.building import build_pipeline
from shared.pipeline.checks import misfits
from shared.pipeline.document import Document
from shared.pipeline.job_checks import job_misfits
from shared.pipeline.misfits import Misfit
from shared.pipeline.mistakes import located, misfit_of, syntax_problem
from shared.pipeline.model import Pipeline
from shared.pipeline.options import option_misfits, read_options, split_options
from shared.problems import Problem, configuration_error


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
    if text.startswith("\ufeff"):
        return None, [
            Problem(path.name, "text in UTF-8 without a byte order mark", "one that begins with it")
        ]
    text = text.replace("\r\n", "\n")
    try:
        raw = tomllib.loads(text)
    except ValueError as error:
        return None, [syntax_problem(path.name, error)]
    except RecursionError:
        return None, [Problem(path.name, "valid TOML", "values nested too deeply")]
    common, given = split_options(raw)
    document, wrong = _validated(common, raw)
    options, unfit = read_options(given)
    wrong += [misfit_of(details, raw) for details in unfit]
    wrong += misfits(raw, limits, lease_margin)
    wrong += job_misfits(raw)
    wrong += option_misfits(raw, options)
    if document is None or wrong:
        return None, located(path.name, text, wrong)
    return build_pipeline(document, options), []


def _validated(common: Mapping[str, Any], raw: Mapping[str, Any]) -> tuple[Document | None, list[Misfit]]:
    try:
        return Document.model_validate(common), []
    except ValidationError as error:
        return None, [misfit_of(dict(details), raw) for details in error.errors(include_url=False)]
