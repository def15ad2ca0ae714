"""No failpoint is left out of the kill tests."""

import pytest

from shared.failpoints import Point
from tests.flows import (
    test_kill_matrix,
    test_kills_deadletters,
    test_kills_intake,
    test_kills_notify,
    test_kills_operator,
    test_kills_reconcile,
    test_kills_video,
    test_kills_worker,
)

pytestmark = pytest.mark.flows


def test_every_point_is_killed_at_somewhere() -> None:
    killed = {
        *test_kill_matrix.MATRIX,
        *test_kills_intake.POINTS,
        *test_kills_worker.SUCCEEDING,
        *test_kills_worker.RETRYING,
        *test_kills_worker.NUDGING,
        *test_kills_worker.DYING,
        *test_kills_deadletters.FILING,
        *test_kills_deadletters.BURYING,
        *test_kills_operator.RESUBMITTING,
        *test_kills_operator.CLOSING,
        *test_kills_operator.SWEEPING,
        *test_kills_reconcile.POINTS,
        *test_kills_notify.POINTS,
        *test_kills_video.POINTS,
    }
    assert killed == set(Point)
