"""App settings with a meaning to the platform that this host cannot give them.

Source: https://learn.microsoft.com/azure/azure-functions/functions-app-settings
"""

from collections.abc import Iterator

from devhost.functions.errors import StartError
from devhost.functions.log import host_log
from devhost.functions.settings import AppSettings

_RUNTIME = "FUNCTIONS_WORKER_RUNTIME"


def check_platform_settings(settings: AppSettings) -> None:
    """Log what this host passes over. Raises StartError for an app of another language."""
    runtime = settings.get(_RUNTIME) or "python"
    if runtime.lower() != "python":
        raise StartError(f"app setting {_RUNTIME}: this host runs Python apps, not {runtime!r}")
    for name, reason in _passed_over(settings):
        host_log.warning("event=setting_passed_over setting=%s reason=%s", name, reason)


def _passed_over(settings: AppSettings) -> Iterator[tuple[str, str]]:
    if (settings.get("FUNCTIONS_WORKER_PROCESS_COUNT") or "1") != "1":
        yield "FUNCTIONS_WORKER_PROCESS_COUNT", "this host has one worker process"
    if settings.get("WEBSITE_TIME_ZONE"):
        yield "WEBSITE_TIME_ZONE", "schedules are in UTC, as on Flex Consumption"
