"""Downloads from a provider's link: allowed hosts and public addresses only, bounded, nothing followed."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import aiohttp

from shared.adapters.outbound import checked_session, refused_as_private
from shared.calls.failures import Sighting, classify
from shared.calls.retry_after import retry_after
from shared.outbound.targets import Target, TargetRefused, check_target
from shared.video.errors import LinkRefused
from shared.video.provider import VideoFile
from shared.video.validation import check_size

SECONDS = 60.0
AT_ONCE = 2
"""Per process: each may hold as much memory as the largest video."""
_OK = 200
_READ = 64 * 1024


class LinkDownloads:
    """Implements `Downloads`. Belongs to the event loop that first uses it."""

    def __init__(self, private_hosts: Collection[str], seconds: float = SECONDS) -> None:
        self._private_hosts = tuple(private_hosts)
        self._seconds = seconds
        self._session: aiohttp.ClientSession | None = None
        self._slots = asyncio.Semaphore(AT_ONCE)

    @asynccontextmanager
    async def slot(self, wait: timedelta) -> AsyncIterator[bool]:
        """As the port says."""
        if not await self._free(wait):
            yield False
            return
        try:
            yield True
        finally:
            self._slots.release()

    async def fetch(self, provider: str, link: str, *, hosts: tuple[str, ...], max_bytes: int) -> VideoFile:
        """As the port says. A redirect is an answer without a file."""
        try:
            target = check_target(link, allowed=hosts, private=self._private_hosts)
        except TargetRefused as refused:
            raise LinkRefused(f"The provider's link is refused. {refused} See `link_hosts`.") from None
        try:
            return await self._get(provider, target, max_bytes)
        except aiohttp.InvalidURL:
            raise LinkRefused from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if refused_as_private(error):
                raise LinkRefused("The provider's link leads to an address that is not public.") from None
            sent = not isinstance(error, aiohttp.ClientConnectorError)
            raise classify(Sighting(provider=provider, sent=sent)) from None

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _free(self, wait: timedelta) -> bool:
        try:
            async with asyncio.timeout(wait.total_seconds()):
                return await self._slots.acquire()
        except TimeoutError:
            return False

    async def _get(self, provider: str, target: Target, max_bytes: int) -> VideoFile:
        if self._session is None:
            self._session = checked_session(self._private_hosts, seconds=self._seconds, connections=AT_ONCE)
        async with self._session.get(target.url, allow_redirects=False) as response:
            if response.status != _OK:
                headers = {name.lower(): value for name, value in response.headers.items()}
                wait = retry_after(headers, datetime.now(UTC))
                raise classify(Sighting(provider=provider, status=response.status, retry_after=wait))
            check_size(response.content_length or 0, max_bytes)
            content = bytearray()
            async for chunk in response.content.iter_chunked(_READ):
                check_size(len(content) + len(chunk), max_bytes)
                content += chunk
            return VideoFile(bytes(content), response.headers.get("Content-Type"))
