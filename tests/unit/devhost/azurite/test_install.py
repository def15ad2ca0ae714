"""Installing Azurite."""

import json
from pathlib import Path

import pytest

from devhost.azurite import install


def test_the_lock_file_pins_azurite_and_names_no_registry() -> None:
    lock = json.loads((install.HERE / "package-lock.json").read_text())
    assert lock["packages"]["node_modules/azurite"]["version"] == "3.37.0"
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]


def test_the_real_node_is_found_not_the_python_program_around_it() -> None:
    assert install.node().read_bytes()[:2] != b"#!"


def test_a_missing_installation_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(install.AzuriteError, match=r"python3 dev\.py"):
        install.require(tmp_path)


def test_an_installation_from_another_lock_file_is_not_taken(tmp_path: Path) -> None:
    script = install.main_script(tmp_path)
    script.parent.mkdir(parents=True)
    script.touch()
    (tmp_path / ".installed").write_text("an older one")
    assert not install.is_installed(tmp_path)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("npm error code ENOSPC", "disk is full"),
        ("npm error getaddrinfo ENOTFOUND host", "no network"),
        ("npm error strange", "npm failed"),
    ],
)
def test_a_failure_of_npm_is_explained_and_its_own_words_kept(output: str, said: str) -> None:
    text = install.explain(output)
    assert said in text
    assert output in text
