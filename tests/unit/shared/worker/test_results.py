"""The result's blob and what the row says of it."""

import hashlib
import threading

import pytest

from shared.jobs import Job
from shared.tasks.base import TaskResult
from shared.worker import results
from shared.worker.results import HASHED_AT_ONCE, store_result, stored_result
from tests.support.application import build_services, new_job
from tests.support.fakes import World


@pytest.fixture
def job(world: World) -> Job:
    return new_job(world)


@pytest.mark.parametrize("size", [0, HASHED_AT_ONCE, HASHED_AT_ONCE + 1])
async def test_a_result_is_described_alike_when_stored_and_when_found(
    world: World, job: Job, size: int
) -> None:
    services, content = build_services(world), b"r" * size
    assert await stored_result(services, job) is None
    stored = await store_result(services, job, TaskResult(content=content, content_type="text/plain"))
    assert (stored.sha256, stored.size) == (hashlib.sha256(content).hexdigest(), size)
    assert await stored_result(services, job) == stored


@pytest.mark.parametrize(("size", "aside"), [(HASHED_AT_ONCE, False), (HASHED_AT_ONCE + 1, True)])
async def test_only_a_large_result_is_hashed_off_the_event_loop(
    world: World, job: Job, size: int, aside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    real = results._sha256

    def hashed(content: bytes) -> str:
        threads.append(threading.get_ident())
        return real(content)

    monkeypatch.setattr(results, "_sha256", hashed)
    result = TaskResult(content=b"r" * size, content_type="text/plain")
    await store_result(build_services(world), job, result)
    assert [thread != threading.get_ident() for thread in threads] == [aside]
