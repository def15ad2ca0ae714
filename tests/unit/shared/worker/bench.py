"""A worker with its world and a scripted task."""

from typing import Any

import pytest

from shared.errors import DeadLettered
from shared.jobs import Job
from shared.messages import JobMessage
from shared.worker.run import Worker
from tests.support.application import ScriptedTask, build_services
from tests.support.fakes import World


class Bench:
    """A worker with its world and a scripted task."""

    def __init__(self, **changes: Any) -> None:
        self.world = World()
        self.task = ScriptedTask()
        self.services = build_services(self.world, self.task, **changes)
        self.worker = Worker(self.services)

    async def handle(self, job: Job, *, turn: int | None = None) -> None:
        message = JobMessage.for_job(job, turn=turn)
        await self.worker.handle(message.body(), message.properties(), message.message_id)

    async def dead(self, job: Job, code: str) -> None:
        with pytest.raises(DeadLettered, match=f": {code}$") as caught:
            await self.handle(job)
        assert caught.value.__cause__ is None

    def stored(self, job: Job) -> Job:
        return self.world.jobs.job(job.job_id)
