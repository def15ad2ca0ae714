"""What `.funcignore` leaves out of a deployment, and what it must not."""

import fnmatch
import json

import pytest

from devhost.paths import ROOT

PATTERNS = [line.strip() for line in (ROOT / ".funcignore").read_text().splitlines() if line.strip()]


def is_left_out(name: str) -> bool:
    """By gitignore's rules for a name at the top: the last pattern that matches decides."""
    left_out = False
    for pattern in PATTERNS:
        if fnmatch.fnmatchcase(name, pattern.removeprefix("!").strip("/")):
            left_out = not pattern.startswith("!")
    return left_out


@pytest.mark.parametrize(
    "name",
    ["function_app.py", "host.json", "pipeline.toml", "requirements.txt", "shared", ".python_packages"],
)
def test_what_the_app_needs_is_deployed(name: str) -> None:
    assert not is_left_out(name)


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".local",
        ".venv",
        "README.md",
        "dev.py",
        "devhost",
        "docs",
        "local.settings.json",
        "local.settings.sample.json",
        "requirements-dev.txt",
        "requirements-worker.txt",
        "tests",
    ],
)
def test_what_is_for_developers_or_secret_is_not_deployed(name: str) -> None:
    assert is_left_out(name)


def test_the_sample_settings_hold_no_secret_that_would_be_taken_for_one() -> None:
    values = json.loads((ROOT / "local.settings.sample.json").read_text())["Values"]
    secrets = {name: value for name, value in values.items() if name.endswith("_SECRET")}
    assert secrets
    assert [name for name, value in secrets.items() if not value.startswith("change-me")] == []
