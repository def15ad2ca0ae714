"""The CORS section of local.settings.json."""

import json
from pathlib import Path

import pytest

from devhost.functions.cors import CorsPolicy, read_cors
from devhost.functions.errors import StartError


def _read(folder: Path, host: object) -> CorsPolicy | None:
    path = folder / "local.settings.json"
    path.write_text(json.dumps({"Values": {}, "Host": host}), encoding="utf-8")
    return read_cors(path)


@pytest.mark.parametrize("host", [{}, {"CORS": ""}, {"CORSCredentials": True}, {"LocalHttpPort": 7071}])
def test_without_origins_there_is_no_policy(tmp_path: Path, host: object) -> None:
    assert _read(tmp_path, host) is None


def test_origins_are_separated_by_commas(tmp_path: Path) -> None:
    assert _read(tmp_path, {"CORS": "http://a.example:1 ,https://b.example"}) == CorsPolicy(
        frozenset({"http://a.example:1", "https://b.example"}), credentials=False
    )


@pytest.mark.parametrize(
    ("host", "sentence"),
    [
        ([], '"Host" must be an object'),
        ({"CORS": ["http://a"]}, "Host.CORS must be a string"),
        ({"CORS": "http://a", "CORSCredentials": "yes"}, "Host.CORSCredentials must be true or false"),
        ({"CORS": "http://a.example/"}, "'http://a.example/' is no origin"),
        ({"CORS": "a.example"}, "'a.example' is no origin"),
        ({"CORS": "HTTP://A.example"}, "in lower case"),
        ({"CORS": "http://a,"}, "'' is no origin"),
        ({"CORS": "*,http://a"}, "must stand alone"),
        ({"CORS": "*", "CORSCredentials": True}, "cannot be combined with CORSCredentials"),
    ],
)
def test_what_cannot_be_granted_is_refused(tmp_path: Path, host: object, sentence: str) -> None:
    with pytest.raises(StartError) as caught:
        _read(tmp_path, host)
    assert sentence in str(caught.value)
