"""Where inputs lie, and which of them a job may read."""

from dataclasses import replace

import pytest

from shared.documents.errors import DocumentMissing, DocumentNotAllowed, DocumentTooLarge
from shared.inputs import (
    INLINE_LIMIT,
    InputMissing,
    is_own,
    may_use,
    place_input,
    read_input,
    store_input,
    store_new_inputs,
)
from shared.jobs import Job
from shared.services import Services
from shared.webhooks.long_texts import LongText
from tests.support.application import DOCUMENT, new_job, store
from tests.support.fakes import World

LIMIT = 100_000


@pytest.mark.parametrize("size", [0, 1, INLINE_LIMIT, INLINE_LIMIT + 1])
async def test_an_input_comes_back_as_it_was_placed(world: World, services: Services, size: int) -> None:
    job = new_job(world)
    placed = place_input(job.job_id, b"x" * size, "text/plain")
    assert (placed.row is not None) is (size <= INLINE_LIMIT)
    await store_input(services, placed)
    await world.jobs.insert(job, [placed.row] if placed.row else [])
    found = await read_input(services, replace(job, input_ref=placed.ref), LIMIT)
    assert (found.content, found.size, found.content_type) == (b"x" * size, size, "text/plain")
    assert found.own


@pytest.mark.parametrize("size", [10, 5000, INLINE_LIMIT, INLINE_LIMIT + 1])
async def test_an_input_in_pieces_lies_where_the_whole_would(
    world: World, services: Services, size: int
) -> None:
    whole = b"x" * size
    placed = place_input("job_1", LongText(b'"' + whole + b'"', 1, size + 1).encoded(), "text/plain")
    expected = place_input("job_1", whole, "text/plain")
    assert (placed.ref, placed.row) == (expected.ref, expected.row)
    await store_input(services, placed)
    stored = [world.blobs.content(ref) for ref in world.blobs.refs()]
    assert stored == ([whole] if size > INLINE_LIMIT else [])


async def test_a_job_that_is_there_keeps_the_inputs_that_it_has(world: World, services: Services) -> None:
    job, contents = new_job(world), [b"x" * (INLINE_LIMIT + more) for more in (1, 2, 3)]
    places = [place_input(job.job_id, content) for content in contents]
    await store_new_inputs(services, job.job_id, places[:2])
    assert len(world.blobs.refs()) == 2
    await world.jobs.insert(job, [])
    await store_new_inputs(services, job.job_id, places)
    assert world.blobs.refs() == sorted(placed.ref for placed in places[:2])


def test_the_same_content_has_the_same_place() -> None:
    assert place_input("job_1", b"a") == place_input("job_1", b"a")
    assert place_input("job_1", b"a").ref != place_input("job_1", b"b").ref


@pytest.mark.parametrize(
    "ref",
    [
        "inputs/{other}/{sha}",
        "inline/{other}/{sha}",
        "inputs/{own}/../{sha}",
        "inputs/{own}/{sha}/more",
        "inputs/{own}/{sha}\n",
        "results/{own}/{sha}",
        "inputs/{own}/notahash",
        "inputs/{own}/",
    ],
)
def test_only_what_was_stored_for_a_job_is_its_own(services: Services, world: World, ref: str) -> None:
    job, other = new_job(world), new_job(world, "evt_2")
    named = ref.format(own=job.job_id, other=other.job_id, sha="a" * 64)
    assert not is_own(job.job_id, named)
    assert not may_use(services, job, named)


async def _error(services: Services, job: Job, kind: type[Exception], limit: int = LIMIT) -> None:
    with pytest.raises(kind):
        await read_input(services, job, limit)


async def test_each_input_that_cannot_be_read_has_its_own_error(world: World, services: Services) -> None:
    job = await store(world, new_job(world))
    await _error(services, replace(job, input_ref=None), InputMissing)
    await _error(services, replace(job, input_ref="inputs/secret/a.txt"), DocumentNotAllowed)
    await _error(services, replace(job, input_ref="inputs/documents/../a.txt"), DocumentNotAllowed)
    await _error(services, replace(job, source="elsewhere"), DocumentNotAllowed)
    await _error(services, replace(job, input_ref="inputs/documents/none.txt"), DocumentMissing)
    await _error(services, replace(job, input_ref=f"inline/{job.job_id}/{'a' * 64}"), DocumentMissing)
    await _error(services, job, DocumentTooLarge, limit=5)
    document = await read_input(services, job, 15)
    assert (document.content, document.own) == (b"A short report.", False)


async def test_a_document_that_grows_while_it_is_read_is_too_large(world: World, services: Services) -> None:
    job = await store(world, new_job(world))

    async def grow() -> None:
        world.blobs.put_now(DOCUMENT, b"x" * 200)

    world.blobs.before("read", grow)
    await _error(services, job, DocumentTooLarge, limit=100)
