"""The protocol under a property test's adversary, which makes a failing trace as short as it can."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.fakes import FakeOpenIndex
from tests.support.protocol.checks import Broken
from tests.support.protocol.machine import ProtocolMachine

USUAL = settings(
    max_examples=80,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def test_nothing_is_lost_or_doubled_in_any_order_of_moves() -> None:
    run_state_machine_as_test(ProtocolMachine, settings=USUAL)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_nothing_is_lost_or_doubled_in_thousands_of_orders() -> None:
    more = settings(USUAL, max_examples=5000, stateful_step_count=60, derandomize=False)
    run_state_machine_as_test(ProtocolMachine, settings=more)


def test_a_release_without_an_open_row_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = FakeOpenIndex.put

    async def put(self: FakeOpenIndex, job_id: str, release: int) -> None:
        if release == 0:
            await real(self, job_id, release)

    monkeypatch.setattr(FakeOpenIndex, "put", put)
    with pytest.raises(Broken, match="without an open row"):
        run_state_machine_as_test(ProtocolMachine, settings=settings(USUAL, phases=[Phase.generate]))
