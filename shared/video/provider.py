"""The seam between `generate_video` and whoever makes videos: submit, ask, fetch."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from shared.calls.calling import NO_COST, Usage
from shared.effects.contract import Done, EffectContract


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoRequest:
    """One video: everything that the provider is told."""

    prompt: str = field(repr=False)
    model: str
    seconds: str
    size: str  # width x height
    callback_url: str | None = field(default=None, repr=False)
    """Where a provider that calls back may tell that something changed."""


class VideoState(StrEnum):
    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    REFUSED = "refused"  # failed because of the provider's content policy


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoStatus:
    """Where a video stands. `link` is where the finished file lies; None is the provider's own endpoint."""

    state: VideoState
    link: str | None = field(default=None, repr=False)
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class VideoFile:
    """A file as it came; `content_type` is the sender's word."""

    content: bytes = field(repr=False)
    content_type: str | None


class VideoProvider(Protocol):
    """One maker of videos. Every method raises `CallFailed` only (`fetch` also VideoUnfit: too large).

    To add one: an adapter of this shape, chosen in `shared/bootstrap.py`. A provider that calls back is told
    `request.callback_url`; the callback ends the wait early, and `status` is still what decides.
    """

    @property
    def contract(self) -> EffectContract:
        """What it promises about a creation; `contract.provider` is its name everywhere."""
        ...

    @property
    def link_hosts(self) -> tuple[str, ...]:
        """The hosts that a `link` may have: `host`, `host:port` or `*.host`."""
        ...

    async def prepare(self) -> None:
        """What takes long before a first call: done beforehand, so that no intent stands open meanwhile."""
        ...

    async def create(self, request: VideoRequest, key: str) -> Done:
        """Submit. `key` goes along as idempotency key or reference, as far as the provider takes one."""
        ...

    async def find(self, key: str) -> Done | None:
        """The video submitted with `key`. Called only if the contract says that it can be asked."""
        ...

    async def status(self, external_id: str) -> VideoStatus: ...

    async def fetch(self, external_id: str, max_bytes: int) -> VideoFile:
        """The finished file from the provider's own endpoint."""
        ...


class Downloads(Protocol):
    """Fetches what a provider's link leads to, a few at once."""

    def slot(self, wait: timedelta) -> AbstractAsyncContextManager[bool]:
        """Hold one of the downloads at once; False if none became free within `wait`."""
        ...

    async def fetch(self, provider: str, link: str, *, hosts: tuple[str, ...], max_bytes: int) -> VideoFile:
        """The file. Called within a slot.

        Raises CallFailed (naming `provider`), LinkRefused or VideoUnfit (too large).
        """
        ...


def cost_of(seconds: str, second_micros: int) -> Usage:
    """What a video of so many seconds costs at a price for a second."""
    return Usage(micros=int(seconds) * second_micros) if second_micros else NO_COST
