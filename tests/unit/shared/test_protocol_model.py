"""The protocol under a random adversary: seeded traces, and kills at each point that belongs to it."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shared.failpoints import Point
from tests.support.protocol.plan import Plan
from tests.support.protocol.simulation import Simulation, simulate

ROOT = Path(__file__).parents[3]
BLOCKS, BLOCK = 8, 20
LONG_BLOCKS, LONG_BLOCK = 60, 500
NO_SAFETY_NET = Plan(sweeps=0.0, operators=0.0)
TRIES = 250
AIMED_KILLS = 3

ELSEWHERE: dict[Point, str] = {
    # A task awaits one effect after the other, so two unknown outcomes never stand at once.
    Point.RECONCILE_AFTER_RECORD: "tests/unit/shared/deadletters/test_reconcile_repeats.py",
    # Deleting is a timer of its own, days after the protocol has ended.
    Point.RETENTION_AFTER_MARK: "tests/unit/shared/retention/test_run.py",
    Point.RETENTION_AFTER_DELETE: "tests/unit/shared/retention/test_run.py",
    # Reads and downloads of one task, with nothing written between them.
    Point.VIDEO_AFTER_STATUS: "tests/flows/test_kills_video.py",
    Point.VIDEO_AFTER_FETCH: "tests/flows/test_kills_video.py",
}
"""The points that no trace comes to, and where they are tested instead."""
POINTS = [point for point in Point if point not in ELSEWHERE]


def area_of(point: Point) -> str:
    return point.name.partition("_")[0]


FREE = {"budgets": 0.0, "tenants": 0.0}
AIMED: dict[str, dict[str, Any]] = {
    "CALLBACK": {"effects": 1.0, "waits": 0.6, "callbacks": 0.08},
    "CANCEL": {"cancels": 0.04},
    "CLOSE": {"effects": 0.1, "failures": 0.9, "closes": 0.7},
    "EFFECT": {"effects": 1.0, "faults": 0.25, "void": 0.3, "time": 0.06, "resting": 0.0} | FREE,
    "LIMITS": {"effects": 1.0, "budgets": 1.0, "tenants": 1.0},
    "NOTIFY": {"effects": 0.2, "told": 1.0, "faults": 0.3},
    "RECONCILE": {"effects": 1.0, "failures": 0.2, "faults": 0.3, "waits": 0.0},
    "REVIEW": {"effects": 0.2, "failures": 0.1, "told": 1.0, "reviewed": 1.0, "faults": 0.05},
    "SWEEP": {"sweeps": 0.05, "time": 0.06},
    "WORKER": {"cancels": 0.015, "tenants": 1.0, "events": 3},
}
"""What brings a trace to the points of an area; the others are on every trace's way."""


@pytest.mark.parametrize("block", range(BLOCKS))
def test_nothing_is_lost_or_doubled_in_random_traces(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        simulate(seed)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("block", range(LONG_BLOCKS))
def test_nothing_is_lost_or_doubled_in_thirty_thousand_traces(block: int) -> None:
    for seed in range(100_000 + block * LONG_BLOCK, 100_000 + (block + 1) * LONG_BLOCK):
        simulate(seed)


def test_messages_alone_carry_a_job_to_its_end_where_no_operator_decides() -> None:
    for seed in range(60):
        simulate(seed, NO_SAFETY_NET)


@pytest.mark.parametrize("area", sorted({area_of(point) for point in POINTS}))
def test_kills_at_each_failpoint_lose_and_double_nothing(area: str) -> None:
    kills = Counter[str]()
    lacking = frozenset(point for point in POINTS if area_of(point) == area)
    plan = replace(Plan(operators=0.1, expiries=0.03, aim=0.5), **AIMED.get(area, {}))
    for seed in range(TRIES):
        kills.update(simulate(seed, replace(plan, kill_at=lacking)).aimed_kills)
        lacking = frozenset(point for point in lacking if kills[point] < AIMED_KILLS)
        if not lacking:
            return
    pytest.fail(f"hardly killed at {sorted(lacking)}: {kills}")


def test_no_trace_comes_to_the_points_that_are_tested_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: set[str] = set()
    real = Simulation.at_point

    async def at_point(self: Simulation, point: str) -> None:
        reached.add(point)
        await real(self, point)

    monkeypatch.setattr(Simulation, "at_point", at_point)
    for seed in range(30):
        simulate(seed)
    assert reached
    assert reached.isdisjoint(ELSEWHERE)


@pytest.mark.parametrize("point", ELSEWHERE)
def test_a_point_that_no_trace_comes_to_is_tested_where_it_says(point: Point) -> None:
    assert f"Point.{point.name}" in (ROOT / ELSEWHERE[point]).read_text()
