"""`generate_video`: submit once, look again until it is done, fetch, and keep only what is that video.

A broken link, an unfit file and a failed creation are three failures. Only a creation that the provider calls
failed may be submitted again; a link is fetched again, and an unfit file is for a person.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, assert_never

from shared.calls.failures import CallFailed
from shared.calls.resting import TriedInVain
from shared.effects.contract import Call, Done
from shared.errors import IdNotKnown
from shared.failpoints import Point, reach
from shared.sizes import KIB
from shared.tasks.base import TaskContext, TaskInput, TaskResult, Waiting
from shared.tasks.options import GenerateVideoOptions
from shared.video.errors import (
    NOT_THE_FILE,
    ContentRefused,
    CreationFailed,
    LinkBroken,
    VideoNotConfigured,
    VideoNotKnown,
    VideoUnfit,
)
from shared.video.provider import Downloads, VideoFile, VideoProvider, VideoState, VideoStatus, cost_of
from shared.video.request import VideoOrder, read_order
from shared.video.validation import check_video

STATUS_TIMEOUT = timedelta(seconds=30)
FETCH_TIMEOUT = timedelta(seconds=70)
SLOT_WAIT = timedelta(seconds=10)
"""For one of the downloads at once; short, because status and fetch must fit the attempt too."""
DOWNLOADS_BUSY = "downloads_busy"
NOT_FOUND = 404
_OF_THE_ID = frozenset({400, NOT_FOUND, 410, 422})
"""How services refuse to tell of a video that they do not have, or whose id has another form than theirs."""


@dataclass(frozen=True, slots=True)
class GenerateVideo:
    """Implements `Task`. `second_micros` is what a second of video costs."""

    options: GenerateVideoOptions
    provider: VideoProvider | None
    downloads: Downloads
    second_micros: int = 0

    name: ClassVar[str] = "generate_video"

    @property
    def max_input_bytes(self) -> int:
        """Escapes in JSON make a prompt longer."""
        return 2 * self.options.max_prompt + 4 * KIB

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult | Waiting:
        """The video, or the wait for it.

        Raises VideoRequestInvalid, VideoNotConfigured, CreationFailed, ContentRefused, VideoNotKnown,
        IdNotKnown, LinkBroken, LinkRefused or VideoUnfit.
        """
        order = read_order(task_input.content, self.options, context.callback_url)
        if self.provider is None:
            raise VideoNotConfigured
        video = _Video(self, self.provider, order, context)
        done = await video.submitted()
        status = await video.status(done)
        match status.state:
            case VideoState.QUEUED | VideoState.IN_PROGRESS:
                return Waiting(f"video_{status.state}", status.retry_after)
            case VideoState.FAILED:
                await context.effects.disprove(self.provider.contract, CreationFailed.code)
                raise CreationFailed
            case VideoState.REFUSED:
                # Proven failed as well, so that an operator may have the same tried again.
                await context.effects.disprove(self.provider.contract, ContentRefused.code)
                raise ContentRefused
            case VideoState.COMPLETED:
                return await video.result(done, status)
            case _:
                assert_never(status.state)


@dataclass(frozen=True, slots=True)
class _Video:
    """One run's way through submit, status and fetch."""

    task: GenerateVideo
    provider: VideoProvider
    order: VideoOrder
    context: TaskContext

    async def submitted(self) -> Done:
        await self.provider.prepare()
        contract = self.provider.contract
        ask = self.provider.find if contract.can_be_asked else None
        call = Call(lambda key: self.provider.create(self.order.request, key), ask)
        cost = cost_of(self.order.request.seconds, self.task.second_micros)
        return await self.context.effects.perform(contract, self.order.identity, call, estimate=cost)

    async def status(self, done: Done) -> VideoStatus:
        name = self.provider.contract.provider
        try:
            status = await self.context.calls.run(
                name, lambda: self.provider.status(done.external_id), timeout=STATUS_TIMEOUT
            )
        except CallFailed as failure:
            if done.unconfirmed and failure.status in _OF_THE_ID:
                raise IdNotKnown(name, self.provider.contract.action) from None
            if failure.status == NOT_FOUND:
                raise VideoNotKnown from None
            raise
        await reach(Point.VIDEO_AFTER_STATUS)
        return status

    async def result(self, done: Done, status: VideoStatus) -> TaskResult | Waiting:
        """The finished video. Each run fetches anew: a copy that was not stored yet is nobody's."""
        limit = self.task.options.max_video
        file = await self._file(done, status.link, limit)
        if file is None:
            return Waiting(DOWNLOADS_BUSY)
        await reach(Point.VIDEO_AFTER_FETCH)
        try:
            fit = await asyncio.to_thread(check_video, file, seconds=self._seconds(done), max_bytes=limit)
        except VideoUnfit as unfit:
            if unfit.reason in NOT_THE_FILE:
                raise LinkBroken(str(unfit)) from None
            raise
        return TaskResult(file.content, fit.format.value)

    async def _file(self, done: Done, link: str | None, limit: int) -> VideoFile | None:
        """None while too many downloads run: our own queue says nothing of the provider's health."""
        if link is None:
            return await self._fetched(lambda: self.provider.fetch(done.external_id, limit))
        name, hosts = self.provider.contract.provider, self.provider.link_hosts
        downloads = self.task.downloads
        async with downloads.slot(SLOT_WAIT) as free:
            if not free:
                return None
            return await self._fetched(lambda: downloads.fetch(name, link, hosts=hosts, max_bytes=limit))

    async def _fetched(self, fetch: Callable[[], Awaitable[VideoFile]]) -> VideoFile:
        name = self.provider.contract.provider
        try:
            return await self.context.calls.run(name, fetch, timeout=FETCH_TIMEOUT)
        except TriedInVain:
            raise
        except CallFailed as failure:
            answer = f"status {failure.status}" if failure.status is not None else "no whole answer"
            text = f"{name}: the finished video could not be fetched ({answer})."
            raise LinkBroken(text, retry_after=failure.retry_after) from None

    def _seconds(self, done: Done) -> float:
        """As it was ordered: what the configuration says may have changed since."""
        return float(done.data.get("seconds", self.order.request.seconds))
