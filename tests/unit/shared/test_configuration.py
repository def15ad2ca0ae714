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


CALLBACK_SETTINGS = {
    "PUBLIC_BASE_URL": "https://jobs.example.com",
    "AFTERHOOK_CALLBACK_KEY": "an invented secret of enough length",
}


@pytest.mark.parametrize(
    ("option", "given", "named"),
    [
        ("true", [], ["PUBLIC_BASE_URL", "AFTERHOOK_CALLBACK_KEY"]),
        ("true", ["PUBLIC_BASE_URL"], ["AFTERHOOK_CALLBACK_KEY"]),
        ("true", ["AFTERHOOK_CALLBACK_KEY"], ["PUBLIC_BASE_URL"]),
        ("true", list(CALLBACK_SETTINGS), []),
        ("false", [], []),
    ],
)
def test_callbacks_that_can_never_come_are_a_warning_that_names_what_is_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, option: str, given: list[str], named: list[str]
) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text(f'[tasks.generate_video]\nattempt_timeout = "3m"\npass_callback_url = {option}\n')
    settings = {name: CALLBACK_SETTINGS[name] for name in given}
    load_configuration({"AFTERHOOK_PIPELINE": str(path), **CONNECTIONS, **settings})
    warned = " ".join(record.getMessage() for record in caplog.records)
    assert [name for name in CALLBACK_SETTINGS if name in warned] == named
    assert bool(named) == ("tasks.generate_video.pass_callback_url" in warned)


WITHOUT_SECRETS = """
[sources.alerts]
scheme = "azure-monitor"
token = { tenant = "11112222-3333-4444-5555-666677778888", audience = ["api://afterhook"], role = "Reader" }
[[sources.alerts.routes]]
event = "*"
task = "summarize_document"
[tasks.summarize_document]
"""


def test_a_source_without_secrets_needs_a_key_to_hide_personal_ids_with(tmp_path: Path) -> None:
    path = tmp_path / "pipeline.toml"
    path.write_text(WITHOUT_SECRETS)
    environ = {"AFTERHOOK_PIPELINE": str(path), **CONNECTIONS}
    with pytest.raises(
        ConfigurationError, match=r"AFTERHOOK_PSEUDONYM_KEY: expected .* alerts .*, found none"
    ):
        load_configuration(environ)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration({**environ, "AFTERHOOK_PSEUDONYM_KEY": "short"})
    assert str(caught.value).count("AFTERHOOK_PSEUDONYM_KEY") == 1
    load_configuration({**environ, "AFTERHOOK_PSEUDONYM_KEY": "an invented key of the tests"})
