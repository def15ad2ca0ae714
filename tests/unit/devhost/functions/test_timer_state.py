"""What is remembered of a timer."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from devhost.functions.timer_state import ScheduleStatus, TimerState

MOMENT = datetime(2026, 1, 15, 10, 30, 20, 123_456, tzinfo=UTC)


@pytest.mark.parametrize("last", [None, MOMENT])
def test_a_status_comes_back_as_it_was_saved(tmp_path: Path, last: datetime | None) -> None:
    status = ScheduleStatus(last=last, next=MOMENT, last_updated=MOMENT)
    TimerState(tmp_path / "new").save("tick", status)
    assert TimerState(tmp_path / "new").load("tick") == status
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["tick.json"]


def test_nothing_is_remembered_without_a_folder() -> None:
    state = TimerState(None)
    state.save("tick", ScheduleStatus(None, MOMENT, MOMENT))
    assert state.load("tick") is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"last": 1, "next": 2, "last_updated": 3}'])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "tick.json").write_text(text, encoding="utf-8")
    assert TimerState(tmp_path).load("tick") is None


def test_a_timer_that_never_ran_shows_the_smallest_date() -> None:
    assert ScheduleStatus(None, MOMENT, MOMENT).as_dict()["Last"] == "0001-01-01T00:00:00+00:00"
