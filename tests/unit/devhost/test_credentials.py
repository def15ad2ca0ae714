"""Generated keys and secrets."""

import base64
import stat
from pathlib import Path

import pytest

from devhost.credentials import PipelineReadError, Source, load_or_create, read_sources

SOURCES = [
    Source("github", "github", ("GH_SECRET", "GH_SECRET_OLD")),
    Source("crm", "standard", ("CRM_SECRET",)),
]


def test_sources_and_the_settings_of_their_secrets_are_read(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text('[sources.github]\nscheme = "github"\nsecrets = ["GH_SECRET", "GH_SECRET_OLD"]\n')
    assert read_sources(file) == [SOURCES[0]]


@pytest.mark.parametrize(("content", "said"), [(None, "cannot be read"), ("[sources", "not valid TOML")])
def test_an_unusable_pipeline_file_is_named(tmp_path: Path, content: str | None, said: str) -> None:
    file = tmp_path / "pipeline.toml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(PipelineReadError, match=rf"pipeline\.toml.*{said}"):
        read_sources(file)


def test_credentials_are_kept_and_completed_for_new_sources(tmp_path: Path) -> None:
    file = tmp_path / "credentials.json"
    first = load_or_create(file, SOURCES[:1])
    second = load_or_create(file, SOURCES)
    assert second.operator_key == first.operator_key
    assert first.settings.items() < second.settings.items()
    assert set(second.settings) == {"GH_SECRET", "GH_SECRET_OLD", "CRM_SECRET"}


def test_a_standard_webhooks_secret_has_its_prefix_and_enough_bytes(tmp_path: Path) -> None:
    prefix, _, encoded = load_or_create(tmp_path / "c.json", SOURCES).settings["CRM_SECRET"].partition("_")
    assert prefix == "whsec"
    assert 24 <= len(base64.b64decode(encoded)) <= 64


def test_the_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    load_or_create(tmp_path / "c.json", SOURCES)
    assert stat.S_IMODE((tmp_path / "c.json").stat().st_mode) == 0o600


def test_two_stacks_have_different_secrets(tmp_path: Path) -> None:
    one, two = (load_or_create(tmp_path / name, SOURCES) for name in ("a.json", "b.json"))
    assert one.operator_key != two.operator_key
    assert one.settings != two.settings
