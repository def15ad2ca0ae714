"""Sends callbacks, again and again until they are taken."""

import asyncio
import base64
import hashlib
import hmac
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Self

import aiohttp

from devhost.outside.loopback import is_loopback
from devhost.outside.messages import JSON_TYPE, Post
from devhost.outside.settings import Settings

MOST_WAITING = 1_000
MOST_TOLD = 2_000
_LONGEST_PAUSE = 60.0
_TIMEOUT = aiohttp.ClientTimeout(total=15)


class Sender:
    """Posts to loopback; a context manager. A callback counts as taken with any 2xx."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: deque[dict[str, Any]] = deque(maxlen=MOST_TOLD)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open."""
        self._session = aiohttp.ClientSession(timeout=_TIMEOUT)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Give up what is not sent."""
        self.give_up()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def told(self) -> list[dict[str, Any]]:
        """The last 2,000 tries, the oldest first: url, id, status (0: no answer)."""
        return list(self._told)

    def give_up(self) -> None:
        """Send nothing more of what waits."""
        for task in self._tasks:
            task.cancel()

    def forget(self) -> None:
        """Nothing was sent."""
        self.give_up()
        self._told.clear()

    def later(self, post: Post) -> None:
        """Send it in the background."""
        if len(self._tasks) < MOST_WAITING:
            task = asyncio.ensure_future(self.send(post))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._tell(post, 0)

    async def send(self, post: Post) -> None:
        """Send until it is taken, as often as the settings say."""
        settings = self._settings()
        pause = settings.post_pause_seconds
        for attempt in range(settings.post_tries):
            if attempt:
                await asyncio.sleep(min(pause, _LONGEST_PAUSE))
                pause *= 2
            if await self.once(post):
                return

    async def once(self, post: Post) -> bool:
        """Send one time; whether it was taken."""
        if not is_loopback(post.url) or self._session is None:
            self._tell(post, 0)
            return False
        headers = _signed(post, self._settings().callback_secret)
        try:
            async with self._session.post(
                post.url, data=post.body, headers=headers, allow_redirects=False
            ) as answer:
                status = answer.status
        except (aiohttp.ClientError, TimeoutError, OSError):
            status = 0
        self._tell(post, status)
        return 200 <= status < 300

    def _tell(self, post: Post, status: int) -> None:
        self._told.append({"url": post.url, "id": post.message_id, "status": status})


def _signed(post: Post, secret: str) -> dict[str, str]:
    """Headers of Standard Webhooks; without a secret there is no signature."""
    now = str(int(time.time()))
    headers = {"content-type": JSON_TYPE, "webhook-id": post.message_id, "webhook-timestamp": now}
    if secret:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        message = f"{post.message_id}.{now}.".encode() + post.body
        signature = base64.b64encode(hmac.digest(key, message, hashlib.sha256)).decode()
        headers["webhook-signature"] = f"v1,{signature}"
    return headers
