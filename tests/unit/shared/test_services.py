"""What the use cases are given."""

from shared.ports import RowKind
from tests.support.application import build_services, new_job
from tests.support.fakes import World


def test_timeline_rows_sort_by_time_and_never_overwrite_each_other() -> None:
    world = World()
    services = build_services(world)
    job = new_job(world, attempt=2)
    rows = [services.timeline(job, "started"), services.timeline(job, "started")]
    world.clock.advance(0.001)
    rows.append(services.timeline(job, "dead", code="crashed"))
    keys = [row.key for row in rows]
    assert len(set(keys)) == 3
    assert keys == sorted(keys)
    assert {row.kind for row in rows} == {RowKind.TIMELINE}
    assert (rows[2].data["code"], rows[2].data["attempt"]) == ("crashed", 2)
    assert "code" not in rows[0].data
