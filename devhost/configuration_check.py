"""Checks the configuration as the application will see it, before a part of the stack is started."""

import logging
import os
from collections.abc import Mapping

from shared.configuration import load_configuration
from shared.errors import ConfigurationError
from shared.webhooks.secrets import load_keys


class ConfigurationRefusedError(RuntimeError):
    """The application could not work with this configuration; the text lists every problem."""


def check_configuration(values: Mapping[str, str]) -> None:
    """Read `values`, laid over this process's environment, as the application does.

    Raises `ConfigurationRefusedError` with the problems of the settings, of pipeline.toml and of host.json,
    or of the sources' secrets. No secret is shown.
    """
    logging.getLogger("afterhook").addHandler(logging.NullHandler())  # the problems are in the error
    environ = {**os.environ, **values}
    try:
        sources = load_configuration(environ).pipeline.sources
    except ConfigurationError as error:
        raise ConfigurationRefusedError(_refusal(str(error))) from error
    problems = [
        f"Source {source.name}: {problem}"
        for source in sources.values()
        for problem in load_keys(source, environ).problems
    ]
    if problems:
        raise ConfigurationRefusedError(_refusal("\n".join(problems)))


def _refusal(problems: str) -> str:
    return f"Nothing was started, because the application could not work with its configuration.\n{problems}"
