"""The note that says where the stack of a state folder is."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from devhost.commands.running import NotRunningError, noted, url_of
from devhost.state_folder import StateFolder

URL = "http://127.0.0.1:7071"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[StateFolder]:
    """As a stack holds it while it runs."""
    held = StateFolder(tmp_path / "state")
    yield held
    held.release()


def test_the_address_of_a_running_stack_is_read_and_gone_at_its_end(folder: StateFolder) -> None:
    with noted(folder.path, URL):
        assert url_of(folder.path) == URL
    with pytest.raises(NotRunningError, match=r"python3 dev\.py up"):
        url_of(folder.path)
    assert not list(folder.path.glob("running*"))


def test_the_note_of_a_stack_that_was_killed_is_not_believed(folder: StateFolder) -> None:
    with noted(folder.path, URL):
        folder.release()
        with pytest.raises(NotRunningError, match="--state DIR"):
            url_of(folder.path)


def test_asking_does_not_keep_a_stack_from_starting(folder: StateFolder) -> None:
    with noted(folder.path, URL):
        folder.release()
        with pytest.raises(NotRunningError):
            url_of(folder.path)
        StateFolder(folder.path).release()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"url": 7}'])
def test_a_damaged_note_is_none(folder: StateFolder, content: str) -> None:
    (folder.path / "running.json").write_text(content)
    with pytest.raises(NotRunningError):
        url_of(folder.path)


def test_only_its_owner_can_read_the_note(folder: StateFolder) -> None:
    with noted(folder.path, URL):
        assert stat.S_IMODE((folder.path / "running.json").stat().st_mode) == 0o600


def test_a_folder_that_is_not_there_is_no_running_stack(tmp_path: Path) -> None:
    with pytest.raises(NotRunningError, match="nowhere"):
        url_of(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
