"""One local stack a state folder."""

import os
from pathlib import Path

import pytest

from devhost.state_folder import StateFolder, StateFolderError, StateInUseError


def test_a_second_stack_in_the_same_folder_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    try:
        with pytest.raises(StateInUseError, match=f"process {os.getpid()}.*--state"):
            StateFolder(tmp_path)
    finally:
        folder.release()


def test_a_released_folder_can_be_used_again(tmp_path: Path) -> None:
    StateFolder(tmp_path).release()
    StateFolder(tmp_path).release()


def test_a_log_starts_empty(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    folder.fresh_log("host").write_text("old")
    assert folder.fresh_log("host").read_text() == ""
    folder.release()


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "state"):
        with pytest.raises(StateFolderError, match=r"file.* cannot be used .*--state"):
            StateFolder(path)


def test_a_new_folder_and_a_kept_one_are_their_owners_alone(tmp_path: Path) -> None:
    for _ in range(2):
        StateFolder(tmp_path / "state").release()
        assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
        (tmp_path / "state").chmod(0o755)


def test_a_folder_that_was_there_for_something_else_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    StateFolder(tmp_path).release()
    assert tmp_path.stat().st_mode & 0o777 == 0o755
