"""One local stack a state folder."""

import os
from pathlib import Path

import pytest

from devhost.state_folder import StateFolder, StateInUseError


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
