"""A part that dies is started again."""

import os
import re
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from devhost import supervisor
from devhost.guardian import Guardian
from devhost.parts import PartError
from devhost.supervisor import Supervised, restart_delay
from tests.support.parts import READY, program
from tests.support.waiting import eventually, is_alive

STEADY = READY + "time.sleep(600)"


def _lives(part: Supervised, count: int) -> bool:
    return part.is_ready and part.lives == count


class Stage:
    """Makes supervised parts and ends them; collects what they report."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.guardian = Guardian()
        self.said: list[str] = []
        self.parts: list[Supervised] = []

    @property
    def deaths(self) -> list[str]:
        return [text for text in self.said if "starting it again" in text]

    def part(self, code: str, name: str = "part") -> Supervised:
        made = Supervised(program(self.folder, code, name), self.guardian, self.said.append)
        self.parts.append(made)
        return made


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    for part in made.parts:
        part.stop(grace=1)
    made.guardian.close()


def test_a_part_killed_from_outside_is_back_and_it_is_said(stage: Stage) -> None:
    part = stage.part(STEADY, "azurite")
    part.start(60)
    first = part.pid
    os.kill(first, signal.SIGKILL)
    eventually(lambda: part.is_ready and part.lives == 2, "a second life")
    assert part.pid != first
    assert stage.said[0].startswith(f"Azurite (process {first}) was ended by SIGKILL; starting it again now")
    eventually(lambda: len(stage.said) == 2, "it is said that it is back")
    assert re.fullmatch(r"Azurite is ready again after \d\.\d s\.", stage.said[1])


def test_a_part_killed_again_and_again_is_back_without_delay(stage: Stage) -> None:
    part = stage.part(STEADY)
    part.start(60)
    for life in range(2, 6):
        part.kill(restart=True)
        eventually(partial(_lives, part, life), f"life {life}")
    assert len(stage.deaths) == 4
    assert all("again now" in text for text in stage.deaths)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every life of a part counts as a short one, however long a busy machine takes to end it."""
    monkeypatch.setattr(supervisor, "STEADY_SECONDS", 3600.0)


@pytest.mark.usefixtures("quick")
def test_a_part_that_keeps_ending_by_itself_is_started_more_and_more_slowly(stage: Stage) -> None:
    part = stage.part(READY + "time.sleep(0.3); import sys; sys.exit('broken pipe organ')")
    part.start(60)
    eventually(lambda: len(stage.deaths) >= 3, "three deaths are reported")
    assert "again now" in stage.deaths[0]
    assert "again in 0.5 s" in stage.deaths[1]
    assert "again in 1 s" in stage.deaths[2]
    assert "broken pipe organ" in stage.deaths[1]


def test_the_delay_between_starts_is_bounded() -> None:
    delays = [restart_delay(deaths) for deaths in range(50)]
    assert delays == sorted(delays)
    assert (delays[0], delays[-1]) == (0, 10)


def test_a_part_that_does_not_start_is_an_error_with_its_last_lines_and_is_not_tried_again(
    stage: Stage,
) -> None:
    part = stage.part("import sys; sys.exit('port 5672 is taken')")
    with pytest.raises(PartError, match=r"ended with code 1(.|\n)*port 5672 is taken"):
        part.start(60)
    assert (part.lives, stage.said) == (1, [])


def test_a_part_that_never_gets_ready_is_ended(stage: Stage) -> None:
    part = stage.part("import time; time.sleep(600)")
    with pytest.raises(PartError, match="was not ready after 0 s"):
        part.start(0.3)
    with pytest.raises(PartError, match="is not running"):
        _ = part.pid


def test_a_part_killed_without_restart_stays_down_until_started(stage: Stage) -> None:
    part = stage.part(STEADY)
    part.start(60)
    first = part.pid
    part.kill(restart=False)
    assert not is_alive(first)
    assert (part.is_ready, part.lives) == (False, 1)
    part.start(60)
    assert (part.is_ready, part.lives) == (True, 2)


def test_starting_a_part_that_is_being_brought_back_waits_until_it_is_ready(stage: Stage) -> None:
    part = stage.part(STEADY)
    said = part.start(60)
    part.kill(restart=True)
    assert part.start(60).keys() == said.keys()
    assert (part.is_ready, part.lives) == (True, 2)


@pytest.mark.usefixtures("quick")
def test_stop_interrupts_a_waiting_restart(stage: Stage) -> None:
    part = stage.part(READY + "time.sleep(0.3); import sys; sys.exit(1)")
    part.start(60)
    eventually(lambda: len(stage.deaths) >= 3, "it waits a second before the next life")
    part.stop(grace=60)
    lives = part.lives
    assert not part.is_ready
    assert part.lives == lives
