"""`generate_video` with a provider and downloads that do what a script says."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from shared.calls.failures import CallFailed, Sighting, classify
from shared.effects.contract import Done, EffectContract
from shared.errors import AfterhookError
from shared.tasks.base import Task, TaskInput, TaskResult, Waiting
from shared.tasks.generate_video import GenerateVideo
from shared.tasks.options import GenerateVideoOptions
from shared.video.provider import VideoFile, VideoProvider, VideoRequest, VideoState, VideoStatus
from tests.support.task_context import MemoryEffects, a_context
from tests.support.videos import mp4

T = TypeVar("T")
OPTIONS = GenerateVideoOptions()
QUEUED = VideoStatus(state=VideoState.QUEUED)
COMPLETED = VideoStatus(state=VideoState.COMPLETED)
FAILED = VideoStatus(state=VideoState.FAILED)
LINKED = VideoStatus(state=VideoState.COMPLETED, link="https://media.example.com/marked-link.mp4")


def seen(**sighting: object) -> CallFailed:
    return classify(Sighting(provider="videos", **sighting))  # type: ignore[arg-type]  # of a test's own words


@dataclass(slots=True)
class ScriptedProvider:
    """Implements `VideoProvider`: each status and file is the next of its list, the last one for ever."""

    statuses: list[VideoStatus | AfterhookError]
    files: list[VideoFile | AfterhookError] = field(default_factory=lambda: [VideoFile(mp4(), "video/mp4")])
    lookup_lag: timedelta | None = None
    created: list[tuple[VideoRequest, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    prepared: int = 0

    @property
    def contract(self) -> EffectContract:
        return EffectContract(
            action="create_video",
            provider="videos",
            version=1,
            call_timeout=timedelta(seconds=60),
            lookup_lag=self.lookup_lag,
        )

    @property
    def link_hosts(self) -> tuple[str, ...]:
        return ("media.example.com",)

    async def prepare(self) -> None:
        assert not self.created or self.prepared
        self.prepared += 1

    async def create(self, request: VideoRequest, key: str) -> Done:
        self.created.append((request, key))
        return Done(external_id=f"video_{len(self.created)}", data={"seconds": request.seconds})

    async def find(self, key: str) -> Done | None:
        return None

    async def status(self, external_id: str) -> VideoStatus:
        self.asked.append(external_id)
        return told(self.statuses)

    async def fetch(self, external_id: str, max_bytes: int) -> VideoFile:
        return told(self.files)


@dataclass(slots=True)
class ScriptedDownloads:
    """Implements `Downloads`."""

    files: list[VideoFile | AfterhookError] = field(default_factory=lambda: [VideoFile(mp4(), "video/mp4")])
    links: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    free: bool = True
    holding: int = 0

    @asynccontextmanager
    async def slot(self, wait: timedelta) -> AsyncIterator[bool]:
        self.holding += 1
        try:
            yield self.free
        finally:
            self.holding -= 1

    async def fetch(self, provider: str, link: str, *, hosts: tuple[str, ...], max_bytes: int) -> VideoFile:
        assert self.holding == 1
        self.links.append((link, hosts))
        return told(self.files)


def told(script: list[T | AfterhookError]) -> T:
    step = script.pop(0) if len(script) > 1 else script[0]
    if isinstance(step, AfterhookError):
        raise step
    return step


def order(**fields: object) -> TaskInput:
    content = json.dumps({"prompt": "A marked-word on a roof"} | fields).encode()
    return TaskInput("inline/x", "inline", len(content), "application/json", content, own=True)


def task(
    provider: VideoProvider | None, downloads: ScriptedDownloads | None = None, **more: int
) -> GenerateVideo:
    return GenerateVideo(OPTIONS, provider, downloads or ScriptedDownloads(), **more)


async def run(made: Task, effects: MemoryEffects | None = None) -> TaskResult | Waiting:
    return await made.run(order(), a_context(effects))
