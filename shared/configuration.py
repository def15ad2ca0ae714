"""Everything that is configured, read and checked together: settings, pipeline.toml and host.json."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from shared.host_limits import HostLimits, read_host_limits
from shared.pipeline.loader import read_pipeline
from shared.pipeline.model import Pipeline
from shared.problems import configuration_error
from shared.settings import APP_ROOT, Settings, read_settings
from shared.tasks.options import GenerateVideoOptions
from shared.webhooks.pseudonyms import KEY_SETTING, missing_key

log = logging.getLogger("afterhook.configuration")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    settings: Settings
    pipeline: Pipeline
    limits: HostLimits


def load_configuration(environ: Mapping[str, str]) -> Configuration:
    """Raises ConfigurationError with every problem of the settings, host.json and pipeline.toml.

    What works, but not as it says, is a warning in the log.
    """
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
    for warning in _without_callbacks(settings, pipeline):
        log.warning("%s", warning)
    return Configuration(settings=settings, pipeline=pipeline, limits=limits)


def _without_callbacks(settings: Settings, pipeline: Pipeline) -> list[str]:
    """The tasks that would name our address to a provider, where there is none to name."""
    needed = {"PUBLIC_BASE_URL": settings.public_base_url, "AFTERHOOK_CALLBACK_KEY": settings.callback_key}
    missing = " and ".join(name for name, value in needed.items() if value is None)
    return [
        f"tasks.{task.name}.pass_callback_url is true, but no provider is given an address to call: "
        f"set {missing}. Until then its jobs are found by polling alone."
        for task in pipeline.tasks.values()
        if missing and isinstance(task.options, GenerateVideoOptions) and task.options.pass_callback_url
    ]
