"""App settings: files, binding expressions, connections."""

import json
from pathlib import Path

import pytest

from devhost.functions.errors import StartError
from devhost.functions.settings import AppSettings, read_values


def test_binding_expressions_are_replaced_everywhere_in_a_string() -> None:
    settings = AppSettings({"QUEUE": "jobs", "N": "1"})
    assert settings.resolve("%QUEUE%-%N%/$deadletterqueue") == "jobs-1/$deadletterqueue"
    assert settings.resolve_all({"queueName": "%QUEUE%", "runOnStartup": True}) == {
        "queueName": "jobs",
        "runOnStartup": True,
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("%ABSENT%", "'%ABSENT%' does not resolve"), ("%EMPTY%", "does not resolve"), ("100%", "closing '%'")],
)
def test_what_does_not_resolve_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(StartError, match=sentence):
        AppSettings({"EMPTY": ""}).resolve(text)


def test_a_prefixed_connection_wins_over_a_plain_one() -> None:
    assert AppSettings({"Bus": "plain"}).connection_string("Bus") == "plain"
    assert AppSettings({"Bus": "plain", "AzureWebJobsBus": "prefixed"}).connection_string("Bus") == "prefixed"


def test_a_missing_connection_and_an_identity_are_told_apart() -> None:
    with pytest.raises(StartError, match="neither app setting 'Bus' nor 'AzureWebJobsBus'"):
        AppSettings({}).connection_string("Bus")
    with pytest.raises(StartError, match="uses an identity"):
        AppSettings({"Bus__fullyQualifiedNamespace": "x.servicebus.windows.net"}).connection_string("Bus")


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("{", "is not JSON"),
        ("[]", "expected a JSON object"),
        ('{"IsEncrypted": true}', "func settings decrypt"),
        ('{"Values": []}', "object of strings"),
        ('{"Values": {"A": 1, "B": "x"}}', "Values.A must be a string"),
        ('{"Values": {"A=B": "x"}}', "'A=B' cannot name a setting"),
        ('{"Values": {"": "x"}}', "'' cannot name a setting"),
        ('{"Values": {"A": "x\\u0000"}}', "'A' holds a NUL"),
        ('{"Values": {"A": "\\ud800"}}', "'A' holds half of a surrogate pair"),
    ],
)
def test_a_faulty_settings_file_is_refused(tmp_path: Path, document: str, sentence: str) -> None:
    path = tmp_path / "local.settings.json"
    path.write_text(document, encoding="utf-8")
    with pytest.raises(StartError, match=sentence):
        read_values(path)


def test_values_are_read_even_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "local.settings.json"
    path.write_text(json.dumps({"Values": {"A": "1"}}), encoding="utf-8-sig")
    assert read_values(path) == {"A": "1"}
