"""Room for connections, and what is said when there is none."""

import pytest

from devhost.servicebus.capacity import OWN_FILES, Capacity


def test_without_a_limit_there_is_always_room(caplog: pytest.LogCaptureFixture) -> None:
    assert Capacity(None).admits(1_000_000)
    assert caplog.messages == []


def test_there_is_room_up_to_the_limit_less_what_the_broker_needs_itself() -> None:
    capacity = Capacity(OWN_FILES + 2)
    assert [capacity.admits(count) for count in range(4)] == [True, True, False, False]


def test_a_limit_below_the_brokers_own_need_leaves_no_room() -> None:
    assert Capacity(OWN_FILES - 1).connections == 0


def test_a_lack_of_room_is_told_once_a_minute_with_all_who_were_turned_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    capacity = Capacity(OWN_FILES, lambda: now)
    for now in (0.0, 1.0, 59.9, 60.0, 61.0):  # noqa: B007 - the clock reads it
        assert not capacity.admits(0)
    assert [message.split(":")[0] for message in caplog.messages] == [
        "connections are turned away (1 so far)",
        "connections are turned away (4 so far)",
    ]
