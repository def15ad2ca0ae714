"""Generated keys and secrets."""

import base64
import stat
from pathlib import Path

import pytest

from devhost.credentials import PSEUDONYM_KEY, PipelineReadError, Source, load_or_create, read_sources
from shared.webhooks.registry import scheme_named

SOURCES = [
    Source("github", "github", ("GH_SECRET", "GH_SECRET_OLD")),
    Source("crm", "standard", ("CRM_SECRET",)),
]


def test_sources_and_the_settings_of_their_secrets_are_read(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text('[sources.github]\nscheme = "github"\nsecrets = ["GH_SECRET", "GH_SECRET_OLD"]\n')
    assert read_sources(file) == [SOURCES[0]]


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read"), ("[sources", "not valid TOML"), ("\ufeff[sources.a]", "without one")],
)
def test_an_unusable_pipeline_file_is_named(tmp_path: Path, content: str | None, said: str) -> None:
    file = tmp_path / "pipeline.toml"
    if content is not None:
        file.write_text(content, encoding="utf-8")
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


def test_settings_that_a_schemes_options_name_are_found(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text(
        '[sources.wa]\nscheme = "meta"\nsecrets = ["META"]\nverify_token = "VERIFY"\n'
        '[sources.sms]\nscheme = "twilio"\nshared_keys = { k1 = "SMS_ONE", k2 = "SMS_TWO" }\n'
        '[sources.odd]\nscheme = "github"\nverify_token = "NOT_ITS_OWN"\n'
        '[sources.acme]\nscheme = "hmac"\nsecrets = ["ACME"]\nkey_encoding = "hex"\n'
    )
    assert read_sources(file) == [
        Source("wa", "meta", ("META",), further_settings=("VERIFY",)),
        Source("sms", "twilio", (), further_settings=("SMS_ONE", "SMS_TWO")),
        Source("odd", "github", ()),
        Source("acme", "hmac", ("ACME",), key_encoding="hex"),
    ]


FORMS = [
    Source("a", "hmac", ("S",)),
    Source("a", "hmac", ("S",), key_encoding="hex"),
    Source("a", "hmac", ("S",), key_encoding="base64"),
    Source("a", "standard", ("S",)),
    Source("a", "stripe", ("S",)),
    Source("a", "twilio", (), further_settings=("S",)),
]


@pytest.mark.parametrize("source", FORMS)
def test_a_made_secret_is_one_that_the_application_takes(tmp_path: Path, source: Source) -> None:
    secret = load_or_create(tmp_path / "c.json", [source]).settings["S"]
    scheme = scheme_named(source.scheme)
    table = {
        "hmac": {"header": "X-Signature", "key_encoding": source.key_encoding},
        "twilio": {"public_url": "https://example.com/a", "accounts": ["AC" + "0" * 32]},
    }
    options = scheme.options.model_validate(table.get(source.scheme, {}))
    assert len(scheme.load_key(secret, options)) >= 24


def test_a_kept_secret_of_another_form_is_made_anew_and_one_that_fits_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    text, hexadecimal, encoded = FORMS[:3]
    as_text = load_or_create(file, [text]).settings["S"]
    as_hex = load_or_create(file, [hexadecimal]).settings["S"]
    assert as_hex != as_text
    assert load_or_create(file, [hexadecimal]).settings["S"] == as_hex
    as_base64 = load_or_create(file, [encoded]).settings["S"]
    assert as_base64 != as_hex
    assert load_or_create(file, [encoded]).settings["S"] == as_base64


def test_a_source_without_a_secret_of_its_own_brings_a_key_for_pseudonyms(tmp_path: Path) -> None:
    assert PSEUDONYM_KEY not in load_or_create(tmp_path / "a.json", SOURCES).settings
    made = load_or_create(tmp_path / "b.json", [*SOURCES, Source("render", "fal", ())])
    assert len(made.settings[PSEUDONYM_KEY]) >= 16
