"""Settings that the platform knows and this host cannot honour."""

import pytest

from devhost.functions.errors import StartError
from devhost.functions.platform_settings import check_platform_settings
from devhost.functions.settings import AppSettings


def test_an_app_of_another_language_is_refused() -> None:
    with pytest.raises(StartError, match="FUNCTIONS_WORKER_RUNTIME: this host runs Python apps, not 'node'"):
        check_platform_settings(AppSettings({"FUNCTIONS_WORKER_RUNTIME": "node"}))


@pytest.mark.parametrize(
    ("settings", "logged"),
    [
        ({}, []),
        ({"FUNCTIONS_WORKER_RUNTIME": "python", "FUNCTIONS_WORKER_PROCESS_COUNT": "1"}, []),
        ({"FUNCTIONS_WORKER_PROCESS_COUNT": "4"}, ["FUNCTIONS_WORKER_PROCESS_COUNT"]),
        ({"WEBSITE_TIME_ZONE": "Europe/Zurich"}, ["WEBSITE_TIME_ZONE"]),
    ],
)
def test_what_is_passed_over_is_logged(
    settings: dict[str, str], logged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    check_platform_settings(AppSettings(settings))
    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == logged
