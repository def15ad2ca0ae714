"""Everything that is configured, read and checked together: settings, pipeline.toml and host.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from shared.host_limits import HostLimits, read_host_limits
from shared.pipeline.loader import read_pipeline
from shared.pipeline.model import Pipeline
from shared.problems import configuration_error
from shared.settings import APP_ROOT, Settings, read_settings
from shared.webhooks.pseudonyms import KEY_SETTING, missing_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    settings: Settings
    pipeline: Pipeline
    limits: HostLimits


def load_configuration(environ: Mapping[str, str]) -> Configuration:
    """Raises ConfigurationError with every problem of the settings, host.json and pipeline.toml."""
    settings, problems = read_settings(environ)
    limits, host_problems = read_host_limits(APP_ROOT / "host.json")
    problems += host_problems
    pipeline, pipeline_problems = read_pipeline(
        settings.pipeline_path, limits=limits, lease_margin=timedelta(seconds=settings.lease_margin_seconds)
    )
    problems += pipeline_problems
    told = any(problem.where == KEY_SETTING for problem in problems)
    if pipeline is not None and settings.pseudonym_key is None and not told:
        problems += missing_key(pipeline.sources)
    if problems or limits is None or pipeline is None:
        raise configuration_error(problems)
    return Configuration(settings=settings, pipeline=pipeline, limits=limits)
