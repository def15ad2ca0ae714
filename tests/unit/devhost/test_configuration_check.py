"""The configuration is checked as the application reads it."""

from pathlib import Path

import pytest

from devhost import paths
from devhost.configuration_check import ConfigurationRefusedError, check_configuration

GOOD = {
    "AzureWebJobsStorage": "storage",
    "ServiceBusConnection": "bus",
    "AFTERHOOK_PIPELINE": str(paths.PIPELINE),
    "GITHUB_WEBHOOK_SECRET": "a secret of the harbour office",
    "EVENTS_WEBHOOK_SECRET": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
}


def test_the_configuration_kept_here_is_accepted() -> None:
    check_configuration(GOOD)


def test_a_mistake_in_the_pipeline_is_refused_with_its_line(tmp_path: Path) -> None:
    pipeline = tmp_path / "pipeline.toml"
    pipeline.write_text(paths.PIPELINE.read_text("utf-8").replace('"2m"\n', '"soon"\n', 1), "utf-8")
    with pytest.raises(
        ConfigurationRefusedError, match=r"Nothing was started(.|\n)*attempt_timeout(.|\n)*soon"
    ):
        check_configuration(GOOD | {"AFTERHOOK_PIPELINE": str(pipeline)})


def test_a_setting_that_the_application_refuses_is_named() -> None:
    with pytest.raises(ConfigurationRefusedError, match="SWEEP_GRACE_SECONDS: expected whole seconds"):
        check_configuration(GOOD | {"SWEEP_GRACE_SECONDS": "often"})


def test_a_secret_that_cannot_be_used_is_named_and_not_shown() -> None:
    with pytest.raises(
        ConfigurationRefusedError, match="Source github: The setting GITHUB_WEBHOOK_SECRET"
    ) as caught:
        check_configuration(GOOD | {"GITHUB_WEBHOOK_SECRET": "shortish"})
    assert "shortish" not in str(caught.value)
