"""Access keys."""

import json
from pathlib import Path

import pytest

from devhost.functions.errors import StartError
from devhost.functions.keys import AccessKeys, AuthLevel, generate_keys, read_keys

KEYS = AccessKeys(master="m", default="d", functions={"f": "k"})


@pytest.mark.parametrize(
    ("level", "given", "allowed"),
    [
        (AuthLevel.ANONYMOUS, None, True),
        (AuthLevel.ANONYMOUS, "wrong", True),
        (AuthLevel.FUNCTION, None, False),
        (AuthLevel.FUNCTION, "", False),
        (AuthLevel.FUNCTION, "wrong", False),
        (AuthLevel.FUNCTION, "é", False),
        (AuthLevel.FUNCTION, "k", True),
        (AuthLevel.FUNCTION, "d", True),
        (AuthLevel.FUNCTION, "m", True),
        (AuthLevel.ADMIN, "k", False),
        (AuthLevel.ADMIN, "d", False),
        (AuthLevel.ADMIN, "m", True),
    ],
)
def test_a_key_opens_what_it_should(level: AuthLevel, given: str | None, allowed: bool) -> None:
    assert KEYS.allow(level, "f", given) is allowed


def test_a_function_without_a_key_of_its_own_has_no_empty_one() -> None:
    keys = AccessKeys(master="m", default="", functions={})
    assert not keys.allow(AuthLevel.FUNCTION, "f", "x")
    assert not keys.allow(AuthLevel.FUNCTION, "f", "")


def test_the_key_of_another_function_does_not_open() -> None:
    assert not KEYS.allow(AuthLevel.FUNCTION, "g", "k")


def test_generated_keys_are_all_different() -> None:
    keys = generate_keys(["f", "g"])
    assert len({keys.master, keys.default, *keys.functions.values()}) == 4


def test_keys_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(KEYS.as_dict()), encoding="utf-8")
    assert read_keys(path) == KEYS


@pytest.mark.parametrize("document", ["{", "[]", '{"master": ""}', '{"master": "m", "functions": {"f": 1}}'])
def test_a_faulty_key_file_is_refused(tmp_path: Path, document: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(document, encoding="utf-8")
    with pytest.raises(StartError):
        read_keys(path)
