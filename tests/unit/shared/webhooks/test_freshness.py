"""How far a signed time may lie from ours."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks.freshness import check_freshness
from shared.webhooks.rejections import StaleTimestamp
from tests.unit.shared.webhooks.requests import NOW, trust


@pytest.mark.case(54, 58)
@given(
    skew=st.integers(-(10**9), 10**19) | st.sampled_from([-301, -300, 300, 301]),
    tolerance=st.integers(1, 86_400),
)
def test_a_time_is_fresh_within_the_tolerance_to_both_sides(skew: int, tolerance: int) -> None:
    time = int(NOW.timestamp()) + skew
    against = trust(tolerance=timedelta(seconds=tolerance))
    if abs(skew) <= tolerance:
        check_freshness(time, against)
        return
    where = "future" if skew > 0 else "past"
    with pytest.raises(StaleTimestamp, match=f"more than {tolerance} seconds in the {where}") as caught:
        check_freshness(time, against)
    assert caught.value.skew_seconds == pytest.approx(skew, rel=1e-6)


def test_a_part_of_a_second_counts() -> None:
    later = trust(now=NOW + timedelta(milliseconds=1))
    with pytest.raises(StaleTimestamp):
        check_freshness(NOW.timestamp() - 300, later)
    check_freshness(NOW.timestamp() - 300 + 0.001, later)
