"""Settings, keys and queues of a local stack."""

import json
from pathlib import Path

import pytest

from devhost import paths
from devhost.credentials import Credentials
from devhost.local_settings import SettingsFileError, compose, keys_document, queue_document, read_values

CREDENTIALS = Credentials("master", "operator", {"GH_SECRET": "generated", "CRM_SECRET": "generated"})


def _settings(folder: Path, name: str, **values: object) -> Path:
    file = folder / name
    file.write_text(json.dumps({"IsEncrypted": False, "Values": values}))
    return file


def test_each_layer_of_settings_wins_over_the_one_below(tmp_path: Path) -> None:
    sample = _settings(tmp_path, "sample.json", A="sample", GH_SECRET="change-me", STORAGE="sample")
    overlay = _settings(tmp_path, "mine.json", CRM_SECRET="mine", STORAGE="mine")
    assert compose(sample, CREDENTIALS, overlay, {"STORAGE": "stack"}) == {
        "A": "sample",
        "GH_SECRET": "generated",
        "CRM_SECRET": "mine",
        "STORAGE": "stack",
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected a JSON object"),
        ('{"Values": {"A": 1}}', "text values only"),
        ('{"IsEncrypted": true, "Values": {}}', "IsEncrypted"),
    ],
)
def test_an_unusable_settings_file_is_named_with_the_reason(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(content)
    with pytest.raises(SettingsFileError, match=rf"mine\.json.*{said}"):
        read_values(file)


def test_the_sample_settings_can_be_read_and_hold_no_real_secret() -> None:
    values = read_values(paths.SAMPLE_SETTINGS)
    assert values["FUNCTIONS_WORKER_RUNTIME"] == "python"
    assert all(value.startswith("change-me") for name, value in values.items() if "SECRET" in name)


def test_the_operator_key_is_the_host_wide_function_key() -> None:
    assert keys_document(CREDENTIALS) == {"master": "master", "default": "operator", "functions": {}}


def test_queue_properties_are_overridden_in_every_queue() -> None:
    document = queue_document(paths.QUEUE_CONFIG, {"LockDuration": "PT5S"})
    queues = document["UserConfig"]["Namespaces"][0]["Queues"]
    assert queues
    assert {queue["Properties"]["LockDuration"] for queue in queues} == {"PT5S"}
    assert queues[0]["Properties"]["MaxDeliveryCount"] == 5


def test_a_queue_file_of_another_form_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "queues.json"
    file.write_text("{}")
    with pytest.raises(SettingsFileError, match="expected UserConfig"):
        queue_document(file, {})
