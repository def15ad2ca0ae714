"""Protocols that are broken on purpose: the seeded adversary must find each within a few traces.

Each plan is aimed at what the variant breaks, so that the seeds from zero on find it soon.
"""

from dataclasses import replace

import pytest

from shared.failpoints import Point
from tests.support.protocol.checks import Broken
from tests.support.protocol.plan import Plan
from tests.support.protocol.simulation import simulate
from tests.support.protocol.variants import VARIANTS

TRIES = 150
QUIET = Plan(
    events=1,
    kills=0.0,
    outages=0.0,
    expiries=0.0,
    cancels=0.0,
    frozen=0.0,
    effects=0.0,
    told=0.0,
    reviewed=0.0,
    resting=0.0,
    budgets=0.0,
    tenants=0.0,
    timed=0.0,
    aim=0.5,
)
"""One job, and an adversary that only delivers and waits. A variant's plan adds what it needs."""
NO_SAFETY_NET = replace(QUIET, sweeps=0.0, operators=0.0)
MARKED = frozenset({Point.CASE_AFTER_JOB_MARKED})
PLANS = {
    "turn_before_send": replace(
        NO_SAFETY_NET, failures=0.9, kill_at=frozenset({Point.WORKER_AFTER_TURN_WRITTEN})
    ),
    "nudge_without_suffix": replace(NO_SAFETY_NET, frozen=0.1, outages=0.1),
    "commit_without_claim_check": replace(QUIET, failures=0.9, frozen=0.15, time=0.06),
    "unguarded_intent": replace(
        QUIET,
        effects=1.0,
        faults=0.0,
        void=0.0,
        waits=0.0,
        freeze_at=frozenset({Point.EFFECT_BEFORE_INTENT, Point.EFFECT_AFTER_INTENT}),
    ),
    "open_row_of_another_release": replace(QUIET, failures=0.9, operators=0.2, closes=0.0, freeze_at=MARKED),
    "close_under_another_row": replace(
        QUIET,
        failures=1.0,
        operators=0.1,
        closes=1.0,
        webhooks=0.0,  # a copy of the event makes good what a kill left
        sweeps=0.002,
        time=0.01,
        kill_at=frozenset({Point.CLOSE_AFTER_BATCH}),
        freeze_at=MARKED,
    ),
    "release_without_open_row": replace(QUIET, failures=0.9, operators=0.2, closes=0.0),
}


def tries_until_caught(promise: str, plan: Plan) -> int:
    """How many traces it takes until one breaks this promise, first or among others."""
    for seed in range(TRIES):
        try:
            simulate(seed, plan)
        except Broken as broken:
            if promise in str(broken).splitlines()[0]:
                return seed + 1
    pytest.fail(f"not caught in {TRIES} traces")


@pytest.mark.parametrize("name", VARIANTS)
def test_a_broken_protocol_is_caught_in_seeded_traces(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    VARIANTS[name].apply(monkeypatch)
    tries_until_caught(VARIANTS[name].promise, PLANS[name])
