"""Whole jobs of `generate_video`: the real worker, ledger, adapter and SDK, against a service that counts."""

from dataclasses import replace
from datetime import timedelta

from shared.adapters.downloads import LinkDownloads
from shared.adapters.openai_videos import OpenAIVideos
from shared.errors import DeadLettered
from shared.jobs import Job
from shared.messages import JobMessage
from shared.pipeline import TaskPolicy
from shared.pipeline.policies import BudgetPolicy
from shared.retry import BackoffList, RetryPolicy
from shared.tasks.generate_video import GenerateVideo
from shared.tasks.options import GenerateVideoOptions
from shared.worker.run import Worker
from tests.support.application import build_services, new_job, pipeline, store
from tests.support.fakes import World

OPTIONS = GenerateVideoOptions()
ORDER = "inputs/documents/order.json"
PATHS = {
    "create": ("POST", "/v1/videos"),
    "status": ("GET", "/v1/videos/*"),
    "fetch": ("GET", "/v1/videos/*/content"),
}
PRICE = 100_000


class Bench:
    """A job, its worker, and the service that makes its video."""

    def __init__(self, task: GenerateVideo, budget: BudgetPolicy) -> None:
        self.world = World()
        retry = RetryPolicy(
            attempts=3,
            deadline=timedelta(hours=24),
            backoff=BackoffList((timedelta(seconds=30),)),
            jitter=0.0,
        )
        policy = TaskPolicy(
            name="generate_video",
            attempt_timeout=timedelta(minutes=3),
            retry=retry,
            budget=budget,
            options=OPTIONS,
        )
        self.services = build_services(
            self.world,
            pipeline=replace(pipeline(), tasks={"generate_video": policy}),
            tasks={"generate_video": task},
        )
        self.worker = Worker(self.services)
        self.job: Job = new_job(self.world, task_type="generate_video", input_ref=ORDER)

    async def begin(self) -> None:
        self.world.blobs.put_now(ORDER, b'{"prompt": "A cat on a roof"}', "application/json")
        await store(self.world, self.job)

    async def step(self) -> Job:
        """Deliver the message that is due, at its time."""
        job = self.stored
        if job.not_before is not None:
            self.world.clock.advance(max(job.not_before - self.world.clock.now(), timedelta(0)))
        message = JobMessage.for_job(job)
        await self.worker.handle(message.body(), message.properties(), message.message_id)
        return self.stored

    async def run(self, most: int = 12) -> Job:
        """Deliver until the job is over."""
        for _ in range(most):
            try:
                job = await self.step()
            except DeadLettered:
                return self.stored
            if job.final:
                return job
        raise AssertionError(f"still {self.stored.state}")

    @property
    def stored(self) -> Job:
        return self.world.jobs.job(self.job.job_id)


async def begun(provider: OpenAIVideos, budget: BudgetPolicy | None = None) -> Bench:
    task = GenerateVideo(OPTIONS, provider, LinkDownloads([]), PRICE)
    bench = Bench(task, budget or BudgetPolicy())
    await bench.begin()
    return bench
