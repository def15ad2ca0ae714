"""Ten thousand jobs, a hundred kills of the host: nothing lost, nothing doubled, nothing left over."""

from pathlib import Path

import pytest

from tests.flows.many_jobs import running_campaign
from tests.flows.many_jobs_outcome import Outcome

# Run by name, for figures too (`-s`): the second takes an hour on two cores that others use as well.
pytestmark = [pytest.mark.flows, pytest.mark.kills, pytest.mark.slow, pytest.mark.timeout(3 * 3600)]
ROOM_MIB = 24
"""What one life may hold more at its end than after its first quarter: caches, and the allocator's."""


def run(folder: Path, capsys: pytest.CaptureFixture[str], *, jobs: int, kills: int) -> Outcome:
    with running_campaign(folder, jobs=jobs, kills=kills, per_second=20, seed=11) as campaign:
        outcome = campaign.run()
    with capsys.disabled():
        print(f"\n{outcome.told()}")
    return outcome


def assert_nothing_wrong(outcome: Outcome, jobs: int) -> None:
    assert len(outcome.jobs) == jobs
    assert (outcome.doubled, outcome.lost, outcome.unfinished) == ([], [], {})
    assert (outcome.open_rows, outcome.messages) == ([], [])


@pytest.mark.parametrize(("jobs", "kills"), [(500, 10), (10_000, 100)])
def test_every_job_ends_and_each_effect_happens_once_whenever_the_host_is_killed(
    jobs: int, kills: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run(tmp_path / "stack", capsys, jobs=jobs, kills=kills)
    assert_nothing_wrong(outcome, jobs)
    assert outcome.kills.total() == kills
    assert outcome.restarts >= kills
    assert len(outcome.kills) > kills // 20  # at many a point, and in between


def test_the_memory_of_one_life_stays_flat_over_thousands_of_jobs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run(tmp_path / "stack", capsys, jobs=3_000, kills=0)
    assert_nothing_wrong(outcome, 3_000)
    assert outcome.restarts == 0
    for part in ("host", "broker"):
        first, last = outcome.quarters(part)
        assert last < first + ROOM_MIB, (part, first, last)
