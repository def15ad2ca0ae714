"""How receivers fare: few posts at once, and rest for one that fails."""

from datetime import timedelta

from shared.notify.receivers import AT_ONCE, FAILURES, Busy, Free, Receivers, Resting
from tests.support.fakes.time import START

REST = timedelta(seconds=15)


def failing(receivers: Receivers, times: int, source: str = "a") -> None:
    for _ in range(times):
        assert receivers.enter(source, START) == Free()
        receivers.left(source, START, well=False)


def test_so_many_posts_go_to_one_receiver_at_once() -> None:
    receivers = Receivers()
    assert [receivers.enter("a", START) for _ in range(AT_ONCE + 1)] == [*[Free()] * AT_ONCE, Busy()]
    assert receivers.enter("b", START) == Free()
    receivers.left("a", START, well=True)
    assert receivers.enter("a", START) == Free()


def test_one_that_fails_in_a_row_rests_and_others_do_not() -> None:
    receivers = Receivers()
    failing(receivers, FAILURES)
    assert receivers.enter("a", START) == Resting(START + REST)
    assert receivers.enter("b", START) == Free()


def test_a_success_in_between_starts_the_count_anew() -> None:
    receivers = Receivers()
    failing(receivers, FAILURES - 1)
    assert receivers.enter("a", START) == Free()
    receivers.left("a", START, well=True)
    failing(receivers, FAILURES - 1)
    assert receivers.enter("a", START) == Free()


def test_after_the_rest_one_post_tries_it() -> None:
    receivers, later = Receivers(), START + REST
    failing(receivers, FAILURES)
    assert receivers.enter("a", later) == Free()
    assert receivers.enter("a", later) == Resting(later)
    receivers.left("a", later, well=True)
    assert [receivers.enter("a", later), receivers.enter("a", later)] == [Free(), Free()]


def test_each_rest_after_a_vain_try_is_longer_up_to_five_minutes() -> None:
    receivers, now, rests = Receivers(), START, []
    failing(receivers, FAILURES)
    for _ in range(7):
        resting = receivers.enter("a", now)
        assert isinstance(resting, Resting)
        rests.append((resting.until - now).total_seconds())
        now = resting.until
        assert receivers.enter("a", now) == Free()
        receivers.left("a", now, well=False)
    assert rests == [15, 30, 60, 120, 240, 300, 300]
