"""App settings: defaults, problems all at once, and secrets never shown."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from shared.errors import ConfigurationError
from shared.settings import APP_ROOT, Settings, load_settings, read_settings

CONNECTIONS = {
    "AzureWebJobsStorage": "UseDevelopmentStorage=true",
    "ServiceBusConnection": "Endpoint=sb://localhost",
}


def problems_of(environ: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(environ)
    first, *others = str(caught.value).splitlines()
    return [line.removeprefix("- ") for line in others] or [first]


def test_only_the_connections_are_needed() -> None:
    settings = load_settings(CONNECTIONS)
    assert settings.jobs_queue == "ai-jobs"
    assert settings.pipeline_path == APP_ROOT / "pipeline.toml"
    assert settings.ai_provider == "builtin"
    assert (settings.lease_margin_seconds, settings.sweep_grace_seconds) == (30, 60)
    assert (settings.alert_webhook_url, settings.public_base_url, settings.pseudonym_key) == (
        None,
        None,
        None,
    )


def test_every_setting_is_read() -> None:
    settings = load_settings(
        CONNECTIONS
        | {
            "JOBS_QUEUE": "team/jobs-2",
            "AFTERHOOK_PIPELINE": "/srv/other.toml",
            "ALERT_WEBHOOK_URL": "https://hooks.example.com/services/abc",
            "PUBLIC_BASE_URL": "https://example.com/base/",
            "LEASE_MARGIN_SECONDS": "45",
            "SWEEP_GRACE_SECONDS": " 5 ",
            "AFTERHOOK_PSEUDONYM_KEY": "an invented key of the tests",
            "WEBSITE_INSTANCE_ID": "0123456789abcdef" * 4,
        }
    )
    assert settings.jobs_queue == "team/jobs-2"
    assert settings.pipeline_path == Path("/srv/other.toml")
    assert settings.alert_webhook_url is not None
    assert settings.alert_webhook_url.get_secret_value() == "https://hooks.example.com/services/abc"
    assert settings.public_base_url == "https://example.com/base"
    assert (settings.lease_margin_seconds, settings.sweep_grace_seconds) == (45, 5)
    assert settings.pseudonym_key is not None
    assert settings.worker_name == "0123456789abcdef" * 2


def test_an_empty_setting_counts_as_none() -> None:
    assert load_settings(CONNECTIONS | {"JOBS_QUEUE": "", "AI_PROVIDER": "  "}) == load_settings(CONNECTIONS)


def test_a_relative_pipeline_path_starts_beside_the_app() -> None:
    settings = load_settings(CONNECTIONS | {"AFTERHOOK_PIPELINE": "config/p.toml"})
    assert settings.pipeline_path == APP_ROOT / "config" / "p.toml"


@pytest.mark.parametrize(
    "identity",
    [
        {"AzureWebJobsStorage__accountName": "account"},
        {
            "AzureWebJobsStorage__blobServiceUri": "https://b",
            "AzureWebJobsStorage__tableServiceUri": "https://t",
        },
    ],
)
def test_connections_may_be_by_identity(identity: dict[str, str]) -> None:
    bus = {"ServiceBusConnection__fullyQualifiedNamespace": "space.servicebus.windows.net"}
    assert load_settings({**identity, **bus}).jobs_queue == "ai-jobs"


def test_all_problems_are_listed_with_name_expected_and_found() -> None:
    problems = problems_of(
        {
            "AzureWebJobsStorage__blobServiceUri": "https://b",
            "JOBS_QUEUE": "two words",
            "ALERT_WEBHOOK_URL": "http://hooks.example.com/services/abc",
            "PUBLIC_BASE_URL": "example.com",
            "AI_PROVIDER": "other",
            "AI_BASE_URL": "http://api.example.com/v1",
            "AI_MODEL": "two words",
            "VIDEO_BASE_URL": "https://user:word@api.example.com/v1",
            "AFTERHOOK_PRIVATE_HOSTS": "127.0.0.1, http://inner",
            "LEASE_MARGIN_SECONDS": "soon",
            "SWEEP_GRACE_SECONDS": "0",
            "OPERATOR_AUTH": "platform",
            "AFTERHOOK_PSEUDONYM_KEY": "short",
        }
    )
    expected = """
AzureWebJobsStorage: expected a connection string, or the setting AzureWebJobsStorage__accountName, \
found neither
ServiceBusConnection: expected a connection string, or the setting \
ServiceBusConnection__fullyQualifiedNamespace, found neither
JOBS_QUEUE: expected a queue name of letters, digits and . _ - / (at most 260), found "two words"
ALERT_WEBHOOK_URL: expected an https address (http only to this machine), \
found something else (a secret, not shown)
PUBLIC_BASE_URL: expected a web address without query, such as "https://example.com", found "example.com"
AI_PROVIDER: expected "builtin", "openai" or "azure", found "other"
AI_BASE_URL: expected an https address (http only to this machine) without query, \
found "http://api.example.com/v1"
AI_MODEL: expected the name of a model, or of a deployment (letters, digits and . _ : / @ -), \
found "two words"
VIDEO_BASE_URL: expected an https address (http only to this machine) without query, \
found something else (a secret, not shown)
AFTERHOOK_PRIVATE_HOSTS: expected host names, each with a port if only that one, such as \
"127.0.0.1, inner:8443", found "127.0.0.1, http://inner"
LEASE_MARGIN_SECONDS: expected whole seconds from 1 to 600, found "soon"
SWEEP_GRACE_SECONDS: expected whole seconds from 1 to 86400, found "0"
OPERATOR_AUTH: expected "key" (this version has no other way), found "platform"
AFTERHOOK_PSEUDONYM_KEY: expected a secret of at least 16 characters, \
found something else (a secret, not shown)
"""
    assert problems == expected.strip().splitlines()


@pytest.mark.parametrize("name", ["ServiceBusConnection", "AFTERHOOK_PSEUDONYM_KEY"])
def test_a_key_vault_reference_that_was_not_resolved_is_a_problem(name: str) -> None:
    reference = "@Microsoft.KeyVault(SecretUri=https://v.vault.azure.net/secrets/a)"
    (problem,) = problems_of(CONNECTIONS | {name: reference})
    assert problem.startswith(f"{name}: expected a value the platform could read from Key Vault")
    assert "vault.azure.net" not in problem


@pytest.mark.parametrize(
    "url",
    ["https://hooks.example.com/a?b=c", "http://127.0.0.1:8080/x", "http://localhost/x", "http://[::1]:1/"],
)
def test_alerts_go_over_https_or_to_this_machine(url: str) -> None:
    assert load_settings(CONNECTIONS | {"ALERT_WEBHOOK_URL": url}).alert_webhook_url is not None


@pytest.mark.parametrize(
    "url", ["http://localhost.example.com/", "ftp://localhost/", "https://", "https://[", "x"]
)
def test_alerts_go_nowhere_else(url: str) -> None:
    (problem,) = problems_of(CONNECTIONS | {"ALERT_WEBHOOK_URL": url})
    assert problem.startswith("ALERT_WEBHOOK_URL")
    assert url not in problem.removeprefix("ALERT_WEBHOOK_URL: expected an https address") or url == "x"


def test_the_settings_of_ai_providers_are_read() -> None:
    settings = load_settings(
        CONNECTIONS
        | {
            "AI_PROVIDER": "azure",
            "AI_BASE_URL": "https://name.openai.azure.com/openai/v1/",
            "AI_MODEL": "gpt-5-mini",
            "VIDEO_BASE_URL": "http://127.0.0.1:8080/v1",
            "VIDEO_API_KEY": "an-invented-key",
            "AFTERHOOK_PRIVATE_HOSTS": "127.0.0.1, Inner.example.com:8443,[::1]:99,",
        }
    )
    assert settings.ai_base_url == "https://name.openai.azure.com/openai/v1"
    assert (settings.ai_model, settings.ai_api_key) == ("gpt-5-mini", None)
    assert settings.video_base_url == "http://127.0.0.1:8080/v1"
    assert settings.private_hosts == ("127.0.0.1", "inner.example.com:8443", "[::1]:99")
    assert "an-invented-key" not in repr(settings)


@pytest.mark.parametrize("key", ["two words", "línea", "tab\tin it"])
def test_an_api_key_is_one_that_a_header_takes(key: str) -> None:
    (problem,) = problems_of(CONNECTIONS | {"AI_API_KEY": key})
    assert problem.startswith("AI_API_KEY: expected an API key of printable ASCII")
    assert key not in problem


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"AI_PROVIDER": "openai"}, ["AI_MODEL", "AI_API_KEY"]),
        ({"AI_PROVIDER": "openai", "AI_MODEL": "m", "AI_BASE_URL": "http://localhost:1/v1"}, []),
        ({"AI_PROVIDER": "openai", "AI_MODEL": "m", "AI_API_KEY": "k"}, []),
        ({"AI_PROVIDER": "azure"}, ["AI_MODEL", "AI_BASE_URL"]),
        ({"AI_PROVIDER": "azure", "AI_MODEL": "m", "AI_BASE_URL": "https://n.example.com"}, []),
        ({"AI_PROVIDER": "builtin"}, []),
    ],
)
def test_a_provider_says_which_settings_it_cannot_do_without(
    given: dict[str, str], missing: list[str]
) -> None:
    _, problems = read_settings(CONNECTIONS | given)
    assert [problem.where for problem in problems] == missing


def test_the_worker_is_named_by_the_platform_or_the_machine() -> None:
    assert load_settings(CONNECTIONS | {"CONTAINER_NAME": "c-1"}).worker_name == "c-1"
    assert load_settings(CONNECTIONS).worker_name


def test_settings_are_frozen_and_show_no_secret() -> None:
    settings = load_settings(CONNECTIONS | {"AFTERHOOK_PSEUDONYM_KEY": "an invented key of the tests"})
    assert "an invented key" not in repr(settings) + settings.model_dump_json()
    with pytest.raises(ValidationError):
        setattr(settings, "jobs_queue", "other")  # noqa: B010  mypy knows that it is frozen


def test_settings_can_be_built_by_name() -> None:
    assert Settings(jobs_queue="other").jobs_queue == "other"


def test_importing_the_module_needs_no_setting() -> None:
    environ = {"PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", "import shared.settings, shared.configuration"]
    subprocess.run(command, cwd=APP_ROOT, env=environ, check=True, timeout=160)
