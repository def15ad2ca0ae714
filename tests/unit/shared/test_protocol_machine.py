"""The protocol under a property test's adversary, which makes a failing trace as short as it can."""

import logging
from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.protocol.checks import Broken
from tests.support.protocol.gates import CALLS
from tests.support.protocol.machine import MessagesAlone, ProtocolMachine
from tests.support.protocol.provider import ANEW
from tests.support.protocol.reach import Event, Reach
from tests.support.protocol.variants import VARIANTS, Variant

USUAL = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    backend=ANEW,
    suppress_health_check=list(HealthCheck),
)
MANY = settings(USUAL, max_examples=5000, derandomize=False)
UNTIL_CAUGHT = settings(
    USUAL,
    max_examples=200,
    derandomize=False,
    phases=[Phase.generate],
    print_blob=False,
    report_multiple_bugs=False,
)
"""The seeds of the variants come to it in fewer than the usual number; other draws may need more."""


class CountedMachine(ProtocolMachine):
    """Counts what all traces of a run came to."""

    events: ClassVar[Counter[Event]] = Counter()
    kills: ClassVar[Counter[str]] = Counter()

    def ended(self, reach: Reach) -> None:
        self.events.update(reach.events)
        self.kills.update(reach.kills)

    @classmethod
    def kills_at_calls(cls) -> dict[str, int]:
        """By the call, whether before or after it."""
        return {call: cls.kills[f"before {call}"] + cls.kills[f"after {call}"] for call in CALLS}


@pytest.fixture(autouse=True)
def _quiet_and_counting_from_zero() -> Iterator[None]:
    """Thousands of lines of log would cost as much as the traces."""
    CountedMachine.events.clear()
    CountedMachine.kills.clear()
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_nothing_is_lost_or_doubled_in_any_order_of_moves() -> None:
    run_state_machine_as_test(CountedMachine, settings=USUAL)
    never = [event for event in Event if not CountedMachine.events[event]]
    assert len(never) <= 5, f"the traces never came to: {', '.join(never)}"
    assert CountedMachine.kills.total() >= 50
    assert sum(map(bool, CountedMachine.kills_at_calls().values())) >= 15


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_nothing_is_lost_or_doubled_in_thousands_of_orders() -> None:
    run_state_machine_as_test(CountedMachine, settings=MANY)
    events, calls = CountedMachine.events, CountedMachine.kills_at_calls()
    print(*(f"{events[event]:7} {event}" for event in Event), sep="\n")
    print(*(f"{count:7} killed at {call}" for call, count in calls.items()), sep="\n")
    assert not {event: events[event] for event in Event if events[event] < 50}
    assert not {call: count for call, count in calls.items() if count < 10}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_broken_protocol_is_caught(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it breaks first: one broken promise leads to others."""
    variant.apply(monkeypatch)
    machine = type("Seeded", (ProtocolMachine if variant.swept else MessagesAlone,), {})
    with pytest.raises(Broken):
        run_state_machine_as_test(seed(variant.seed)(machine), settings=UNTIL_CAUGHT)
