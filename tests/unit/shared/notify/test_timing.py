"""When an announcement is tried again."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from shared.notify.timing import GIVE_UP_AFTER, busy_pause, pause_after

FRACTIONS = st.floats(0, 1, exclude_max=True)


def test_the_pauses_grow_from_five_seconds_to_an_hour() -> None:
    pauses = [pause_after(attempts, 0).total_seconds() for attempts in range(1, 10)]
    assert pauses == [5, 15, 45, 135, 405, 1215, 3600, 3600, 3600]


def test_what_the_receiver_asks_for_is_a_floor_up_to_an_hour() -> None:
    assert pause_after(1, 0, timedelta(seconds=60)) == timedelta(seconds=60)
    assert pause_after(4, 0, timedelta(seconds=60)) == timedelta(seconds=135)
    assert pause_after(1, 0, timedelta(days=400)) == timedelta(hours=1)


@given(attempts=st.integers(1, 10_000), fraction=FRACTIONS)
def test_chance_only_adds_and_at_most_a_fifth(attempts: int, fraction: float) -> None:
    least, pause = pause_after(attempts, 0), pause_after(attempts, fraction)
    assert least <= pause <= least * 1.2 + timedelta(microseconds=1)


@given(fraction=FRACTIONS)
def test_a_busy_receiver_is_tried_again_within_seconds_and_then_more_seldom(fraction: float) -> None:
    assert timedelta(seconds=5) <= busy_pause(0, fraction) <= timedelta(seconds=15)
    assert timedelta(seconds=40) <= busy_pause(3, fraction) <= timedelta(seconds=120)
    assert timedelta(minutes=10) <= busy_pause(10_000, fraction) <= timedelta(minutes=30)


def test_a_day_of_trying_is_a_few_dozen_attempts() -> None:
    attempts, passed = 0, timedelta(0)
    while passed < GIVE_UP_AFTER:
        attempts += 1
        passed += pause_after(attempts, 0)
    assert 25 <= attempts <= 40
