"""The sources' secrets: what is stripped, what is refused, and that nothing is shown."""

import logging

import pytest

from shared.pipeline import SourcePolicy
from shared.webhooks.secrets import SourceSecrets, load_keys
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, STANDARD_KEY, STANDARD_SECRET

SECRET = "an invented secret of the tests"


def source(*settings: str, scheme: str = "github") -> SourcePolicy:
    return SourcePolicy(
        name="source",
        scheme=scheme,
        secrets=settings,
        max_body=1024,
        tolerance=FIVE_MINUTES,
        allowed_inputs=(),
        routes=(),
    )


@pytest.mark.case(39)
@pytest.mark.parametrize("ending", ["\n", "\r\n", " ", "\t", "\u00a0", "\n\n \u00a0", "\ufeff\n", "\u200b"])
@pytest.mark.parametrize("beginning", ["", "\ufeff", " \u00a0"])
@pytest.mark.parametrize(
    ("scheme", "secret", "key"),
    [("github", SECRET, SECRET.encode()), ("standard", STANDARD_SECRET, STANDARD_KEY)],
)
def test_white_space_at_the_ends_is_left_out_with_a_warning(
    beginning: str, ending: str, scheme: str, secret: str, key: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "afterhook.webhooks"):
        keys = load_keys(source("A_SECRET", scheme=scheme), {"A_SECRET": beginning + secret + ending})
    assert (keys.keys, keys.problems) == ((key,), ())
    assert "A_SECRET begins or ends with white space" in caplog.text
    assert secret not in caplog.text


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param(None, "not set", marks=pytest.mark.case(42)),
        pytest.param("", "empty", marks=pytest.mark.case(41)),
        (" \n", "empty"),
        ("\ufeff\u200b", "empty"),
        pytest.param("***", "one character repeated", marks=pytest.mark.case(44)),
        ("\u2022" * 32, "one character repeated"),
        ("\udcff" + "x" * 32, "not text in UTF-8"),
        ("too short", "shorter than 16 bytes"),
        ("@Microsoft.KeyVault(SecretUri=https://example.vault.azure.net/secrets/a)", "Key Vault reference"),
        ("change-me-to-a-long-random-text", "placeholder"),
    ],
)
def test_an_unusable_secret_is_a_problem_that_names_the_setting_only(
    value: str | None, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "afterhook.webhooks"):
        keys = load_keys(source("A_SECRET"), {} if value is None else {"A_SECRET": value})
    assert keys.keys == ()
    assert len(keys.problems) == 1
    assert "A_SECRET" in keys.problems[0]
    assert problem in keys.problems[0]
    if value and value.strip():
        assert value not in keys.problems[0] + caplog.text


def test_each_scheme_loads_its_own_kind_of_key() -> None:
    environ = {"A_SECRET": STANDARD_SECRET}
    assert load_keys(source("A_SECRET", scheme="standard"), environ).keys == (STANDARD_KEY,)
    assert load_keys(source("A_SECRET", scheme="github"), environ).keys == (STANDARD_SECRET.encode(),)


def test_usable_secrets_keep_their_place_in_the_list() -> None:
    keys = load_keys(source("NEW", "OLD"), {"OLD": SECRET})
    assert (keys.keys, keys.places) == ((SECRET.encode(),), (1,))
    assert keys.problems == ("The setting NEW cannot be used as a secret: it is not set.",)


def test_a_source_is_loaded_once_and_leaves_the_others_alone() -> None:
    environ = {"GOOD": SECRET}
    secrets = SourceSecrets(environ)
    bad = secrets.keys_of(source("BAD"))
    environ["BAD"] = SECRET
    assert secrets.keys_of(source("BAD")) is bad
    assert SourceSecrets(environ).keys_of(source("GOOD")).keys == (SECRET.encode(),)


def test_keys_are_not_shown_in_a_representation() -> None:
    assert SECRET not in repr(load_keys(source("A_SECRET"), {"A_SECRET": SECRET}))
