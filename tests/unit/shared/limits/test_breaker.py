"""When a provider rests, who tries it out, and when the others look again."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.calls.failures import CallFailed, FailureKind
from shared.limits.breaker import (
    CLOSED,
    LONGEST_REST,
    Breaker,
    Hold,
    Pass,
    Probe,
    admit,
    after_failure,
    after_success,
    wake_up,
    without_probe,
)
from shared.pipeline.policies import BreakerPolicy
from tests.support.fakes.time import START

POLICY = BreakerPolicy(failures=3)
LEASE = timedelta(seconds=30)
SECOND = timedelta(seconds=1)
DOWN = CallFailed("openai", FailureKind.UNAVAILABLE)
RESTS = [15, 30, 60, 120, 240, 300, 300]


def throttled(seconds: float | None) -> CallFailed:
    wait = None if seconds is None else timedelta(seconds=seconds)
    return CallFailed("openai", FailureKind.THROTTLED, status=429, retry_after=wait)


def failed(
    breaker: Breaker, failure: CallFailed = DOWN, *, after: float = 0, probe: str | None = None
) -> Breaker:
    return after_failure(breaker, failure, START + timedelta(seconds=after), POLICY, probe)


def opened() -> Breaker:
    return failed(failed(failed(CLOSED)))


def tried_out(breaker: Breaker) -> tuple[Breaker, float]:
    """The breaker with a probe on its way, and the second at which its rest ended."""
    assert breaker.open_until is not None
    answer = admit(breaker, breaker.open_until, token="p", lease=LEASE)
    assert isinstance(answer, Probe)
    return answer.breaker, (breaker.open_until - START).total_seconds()


def test_a_closed_breaker_lets_every_call_pass() -> None:
    assert admit(CLOSED, START, token="p", lease=LEASE) == Pass()
    assert admit(failed(CLOSED), START, token="p", lease=LEASE) == Pass()


def test_so_many_failures_in_a_row_open_it_for_the_first_rest() -> None:
    two = failed(failed(CLOSED))
    assert (two.failures, two.open_until) == (2, None)
    assert failed(two) == Breaker(rests=1, open_until=START + 15 * SECOND)


def test_a_success_between_failures_begins_the_count_anew() -> None:
    assert after_success(failed(failed(CLOSED)), None) == CLOSED


def test_an_open_breaker_lets_nobody_pass_until_its_rest_ends() -> None:
    breaker, end = opened(), START + 15 * SECOND
    assert admit(breaker, end - SECOND, token="p", lease=LEASE) == Hold(end)
    assert isinstance(admit(breaker, end, token="p", lease=LEASE), Probe)


def test_one_probe_at_a_time_tries_out_and_a_lost_one_is_replaced() -> None:
    probing, end = tried_out(opened())
    at = START + end * SECOND
    assert admit(probing, at, token="q", lease=LEASE) == Hold(at + LEASE)
    assert admit(probing, at + LEASE, token="q", lease=LEASE) == Probe(
        Breaker(rests=1, open_until=at, probe="q", probe_until=at + 2 * LEASE)
    )


def test_a_probe_that_succeeds_closes() -> None:
    probing, _ = tried_out(opened())
    assert after_success(probing, "p") == CLOSED


def test_a_probe_that_fails_opens_for_longer_each_time() -> None:
    breaker, rests = opened(), []
    for _ in RESTS:
        assert breaker.open_until is not None
        probing, end = tried_out(breaker)
        rests.append(breaker.open_until)
        breaker = failed(probing, after=end, probe="p")
    starts = [START, *rests]
    assert [(b - a).total_seconds() for a, b in zip(starts, rests, strict=False)] == RESTS


def test_what_began_before_the_rest_neither_closes_nor_lengthens_it() -> None:
    for breaker in (opened(), tried_out(opened())[0]):
        assert after_success(breaker, None) == breaker
        assert after_success(breaker, "another") == breaker
        assert failed(breaker, after=5) == breaker
        assert failed(breaker, after=5, probe="another") == breaker


def test_a_429_that_says_when_rests_until_then_at_once() -> None:
    breaker = failed(CLOSED, throttled(42))
    assert breaker == Breaker(open_until=START + 42 * SECOND)
    assert failed(breaker, throttled(10)) == breaker
    assert failed(breaker, throttled(60)).open_until == START + 60 * SECOND


def test_a_429_that_does_not_say_when_counts_as_any_failure() -> None:
    assert failed(CLOSED, throttled(None)) == Breaker(failures=1)
    assert failed(CLOSED, throttled(0)) == Breaker(failures=1)


def test_retry_after_is_the_least_rest() -> None:
    away = CallFailed("openai", FailureKind.UNAVAILABLE, retry_after=timedelta(minutes=2))
    assert failed(CLOSED, away) == Breaker(failures=1)
    assert failed(failed(failed(CLOSED)), away).open_until == START + timedelta(minutes=2)
    probing, end = tried_out(opened())
    assert failed(probing, away, after=end, probe="p").open_until == START + timedelta(minutes=2, seconds=end)


def test_an_absurd_retry_after_is_cut() -> None:
    assert failed(CLOSED, throttled(1e9)).open_until == START + LONGEST_REST


def test_a_probe_that_tells_nothing_makes_room_for_another() -> None:
    probing, end = tried_out(opened())
    freed = without_probe(probing, "p")
    assert freed == Breaker(rests=1, open_until=START + end * SECOND)
    assert isinstance(admit(freed, START + end * SECOND, token="q", lease=LEASE), Probe)
    assert without_probe(probing, "another") == probing
    assert without_probe(CLOSED, "p") == CLOSED


def test_those_who_wait_are_spread_over_half_a_rest_after_its_end() -> None:
    breaker = opened()
    end = START + 15 * SECOND
    wakes = [wake_up(breaker, end, START, POLICY, n / 100) for n in range(100)]
    assert min(wakes) == end
    assert end + 7 * SECOND < max(wakes) < end + 8 * SECOND


def test_those_who_meet_a_probe_look_again_before_its_lease_is_over() -> None:
    probing, end = tried_out(opened())
    at = START + end * SECOND
    assert wake_up(probing, at + timedelta(minutes=5), at, POLICY, 0.0) == at + 15 * SECOND
    assert wake_up(probing, at + 4 * SECOND, at, POLICY, 0.0) == at + 4 * SECOND


Steps = st.lists(
    st.tuples(
        st.sampled_from(["call", "succeed", "fail", "throttle", "vanish"]),
        st.integers(0, 3),
        st.floats(0, 400, allow_nan=False),
    ),
    max_size=60,
)


@given(Steps)
def test_at_most_one_call_is_on_its_way_while_a_provider_rests(steps: list[tuple[str, int, float]]) -> None:
    """Of calls begun since it opened, whatever is answered when; and a rest is never cut short."""
    breaker, now, token = CLOSED, START, 0
    running: list[tuple[str | None, object]] = []
    for what, which, passes in steps:
        now += timedelta(seconds=passes)
        if what == "call":
            token += 1
            answer = admit(breaker, now, token=str(token), lease=LEASE)
            if isinstance(answer, Hold):
                assert answer.until > now
                continue
            if isinstance(answer, Probe):
                assert breaker.probe_until is None or breaker.probe_until <= now
                breaker = answer.breaker
            running.append((str(token) if isinstance(answer, Probe) else None, now))
        elif running:
            probe, _ = running.pop(which % len(running))
            before = breaker
            if what == "succeed":
                breaker = after_success(breaker, probe)
            elif what in {"fail", "throttle"}:
                breaker = after_failure(breaker, DOWN if what == "fail" else throttled(9), now, POLICY, probe)
                assert before.open_until is None or breaker.open_until >= before.open_until  # type: ignore[operator]  # open stays open
        assert (breaker.probe is None) == (breaker.probe_until is None)


@pytest.mark.parametrize("rests", [0, 1, 5, 10_000])
def test_a_wake_up_never_comes_before_the_rest_ends(rests: int) -> None:
    breaker = Breaker(rests=rests, open_until=START + SECOND)
    assert wake_up(breaker, START + SECOND, START, POLICY, 0.999) >= START + SECOND
