"""Everything configured is checked together."""

from pathlib import Path

import pytest

from shared.configuration import load_configuration
from shared.errors import ConfigurationError

CONNECTIONS = {
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    "ServiceBusConnection": "Endpoint=sb://localhost",
}


def test_the_apps_own_files_hold() -> None:
    configuration = load_configuration(CONNECTIONS)
    assert set(configuration.pipeline.sources) == {"github", "events"}
    assert configuration.settings.jobs_queue == "ai-jobs"
    assert configuration.limits.function_timeout < configuration.limits.lock_renewal


def test_problems_of_settings_and_pipeline_come_in_one_list(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text('[sources.github]\nscheme = "github"\n')
    with pytest.raises(ConfigurationError) as caught:
        load_configuration({"AFTERHOOK_PIPELINE": str(path), **CONNECTIONS, "JOBS_QUEUE": "two words"})
    lines = str(caught.value).splitlines()
    assert lines[0] == "3 problems:"
    assert any("JOBS_QUEUE" in line for line in lines)
    assert any("pipeline.toml line 1: sources.github.secrets" in line for line in lines)


def test_the_lease_margin_counts_against_the_functions_time(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text('[tasks.summarize_document]\nattempt_timeout = "29m"\n')
    environ = {"AFTERHOOK_PIPELINE": str(path), **CONNECTIONS}
    assert load_configuration(environ).pipeline.tasks
    with pytest.raises(ConfigurationError, match=r"line 2: tasks\.summarize_document\.attempt_timeout"):
        load_configuration({**environ, "LEASE_MARGIN_SECONDS": "60"})
