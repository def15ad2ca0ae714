"""Posting to receivers: to public addresses only, without redirects, within a time."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

import aiohttp

from shared.adapters.outbound import checked_session, refused_as_private
from shared.calls.retry_after import retry_after
from shared.notify.posting import PostAnswer, PostFailed
from shared.notify.timing import POST_TIMEOUT

CONNECTIONS = 32


class WebhookPosts:
    """WebhookPost over HTTP. `private` are the hosts that may have private addresses."""

    def __init__(self, private: Collection[str], timeout: timedelta = POST_TIMEOUT) -> None:
        self._private = private
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> PostAnswer:
        """As the port says. What the receiver writes back is cut off unread."""
        if self._session is None:
            seconds = self._timeout.total_seconds()
            self._session = checked_session(self._private, seconds=seconds, connections=CONNECTIONS)
        try:
            async with self._session.post(url, data=body, headers=headers, allow_redirects=False) as response:
                said = {name.lower(): value for name, value in response.headers.items()}
                return PostAnswer(status=response.status, retry_after=retry_after(said, datetime.now(UTC)))
        except TimeoutError:
            raise PostFailed("timed_out") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise PostFailed("not_public" if refused_as_private(error) else "no_answer") from None

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
