"""The outbox: who is told what, and how a receiver knows a repeat."""

import json
from datetime import timedelta
from typing import Any

import pytest

from shared.jobs import JobState, Review, StoredResult
from shared.notify.announcement import Announcement, OutboxState
from shared.notify.outbox import CONTRACT, outbox_row, outbox_rows, owed
from shared.records import from_text
from shared.services import Services
from tests.support.application import SOURCE, build_services, new_job
from tests.support.cases import failure
from tests.support.fakes import World
from tests.support.notify import succeeded_job, telling_pipeline


@pytest.fixture
def services(world: World) -> Services:
    return build_services(world, pipeline=telling_pipeline())


def only(services: Services, world: World, **job: Any) -> Announcement:
    rows = outbox_rows(services, new_job(world, **job))
    assert len(rows) == 1
    return from_text(Announcement, json.dumps(dict(rows[0].data)))


def test_a_success_is_told_with_where_its_result_lies(world: World, services: Services) -> None:
    result = StoredResult(ref="results/a/0", content_type="text/plain", sha256="0" * 64, size=1)
    said = only(services, world, state=JobState.SUCCEEDED, result=result, release=2)
    job = new_job(world)
    assert json.loads(said.body()) == {
        "type": "job.succeeded",
        "timestamp": "2026-07-27T10:15:00.000Z",
        "data": {
            "job_id": job.job_id,
            "task_type": job.task_type,
            "source": SOURCE,
            "status": "succeeded",
            "release": 2,
            "result_ref": "results/a/0",
        },
    }


def test_a_death_is_told_with_its_code_and_category_and_never_its_text(
    world: World, services: Services
) -> None:
    said = only(services, world, state=JobState.DEAD, failure=failure(world))
    data = json.loads(said.body())["data"]
    assert (data["status"], data["code"], data["category"]) == ("dead", "document_missing", "fix_input")
    assert "There is no document" not in said.body().decode()
    assert "user_204" not in said.body().decode()


@pytest.mark.parametrize("state", [state for state in JobState if state not in {"succeeded", "dead"}])
def test_no_other_state_is_told(world: World, services: Services, state: JobState) -> None:
    assert outbox_rows(services, new_job(world, state=state)) == []


def test_a_source_without_a_receiver_is_told_nothing(world: World, services: Services) -> None:
    assert outbox_rows(build_services(world), new_job(world, state=JobState.SUCCEEDED)) == []
    assert outbox_rows(services, new_job(world, state=JobState.SUCCEEDED, source="api")) == []


@pytest.mark.parametrize(
    ("review", "told"), [(None, 1), (Review.PENDING, 0), (Review.REJECTED, 0), (Review.APPROVED, 1)]
)
def test_what_is_withheld_is_not_told(
    world: World, services: Services, review: Review | None, told: int
) -> None:
    job = new_job(world, state=JobState.SUCCEEDED, review=review)
    assert len(outbox_rows(services, job)) == told


def test_the_id_is_one_for_each_job_release_and_end(world: World, services: Services) -> None:
    ended: list[dict[str, Any]] = [
        {"state": JobState.SUCCEEDED},
        {"state": JobState.SUCCEEDED, "release": 1},
        {"state": JobState.DEAD, "failure": failure(world)},
        {"state": JobState.SUCCEEDED, "job_id": new_job(world, "evt_2").job_id},
    ]
    ids = [only(services, world, **job).webhook_id for job in ended]
    assert len(set(ids)) == len(ids)
    world.clock.advance(3600)
    assert [only(services, world, **job).webhook_id for job in ended] == ids
    assert all("." not in found for found in ids), "the signature joins its parts with dots"


async def test_what_is_owed_is_read_from_the_present_releases_row(world: World, services: Services) -> None:
    job = await succeeded_job(services, world)
    announcement = await owed(services, job)
    assert announcement is not None
    assert (announcement.release, announcement.attempts, announcement.due_at) == (0, 0, job.updated_at)
    assert await owed(services, new_job(world, release=1)) is None
    assert await owed(services, new_job(world, "evt_2")) is None


@pytest.mark.parametrize("state", [OutboxState.DELIVERED, OutboxState.GIVEN_UP])
async def test_what_is_settled_is_owed_no_more(world: World, services: Services, state: OutboxState) -> None:
    job = await succeeded_job(services, world)
    announcement = await owed(services, job)
    assert announcement is not None
    settled = Announcement(
        webhook_id=announcement.webhook_id,
        kind=announcement.kind,
        release=0,
        happened_at=announcement.happened_at,
        data=announcement.data,
        due_at=announcement.due_at,
        state=state,
    )
    await world.jobs.add_row(job.job_id, outbox_row(settled))
    assert await owed(services, job) is None


async def test_nothing_is_read_for_a_source_that_is_told_nothing(world: World) -> None:
    assert await owed(build_services(world), new_job(world, state=JobState.SUCCEEDED)) is None
    assert world.jobs.calls == []


def test_the_contract_says_that_a_repeat_is_harmless() -> None:
    assert CONTRACT.repeatable
    assert CONTRACT.call_timeout <= timedelta(seconds=10)
