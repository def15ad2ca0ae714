"""All that imports the `openai` SDK: its client with bounds, and what its errors mean.

Imported at the first use and in a thread, because that takes more than a second.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import httpx2
import openai

from shared.calls.failures import Sighting
from shared.calls.retry_after import retry_after

MAX_ANSWER = 2 * 1024 * 1024  # bytes of an answer that is no file
CONNECT_SECONDS = 5.0
KEEP_ALIVE_SECONDS = 4.0
"""Short: a connection that the other side closes meanwhile makes the next call's outcome unclear."""
CONNECTIONS = 20
_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
)
_FILE = "/content"


class AnswerTooLarge(httpx2.RemoteProtocolError):
    """The answer is longer than any right one, or compressed, so that its length is not known."""


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limit: int) -> None:
        self._stream = stream
        self._left = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise AnswerTooLarge("too large")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Refuses compressed answers, and ends those that are too large; a file's reader counts by itself."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise AnswerTooLarge("compressed", request=request)
        is_file = response.status_code == httpx2.codes.OK and request.url.path.endswith(_FILE)
        if not is_file:
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _BoundedStream(response.stream, MAX_ANSWER)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def make_client(
    base_url: str | None, key: str | Callable[[], Awaitable[str]], seconds: float
) -> openai.AsyncOpenAI:
    """A client that never repeats a call itself and follows no redirect; `seconds` bounds each silence."""
    for name in ("openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)  # their INFO lines hold addresses
    limits = httpx2.Limits(
        max_connections=CONNECTIONS,
        max_keepalive_connections=CONNECTIONS,
        keepalive_expiry=KEEP_ALIVE_SECONDS,
    )
    timeout = httpx2.Timeout(seconds, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
    http_client = httpx2.AsyncClient(
        transport=BoundedTransport(httpx2.AsyncHTTPTransport(limits=limits)),
        timeout=timeout,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
    )
    return openai.AsyncOpenAI(
        base_url=base_url or "https://api.openai.com/v1",
        api_key=key,
        max_retries=0,
        timeout=timeout,
        http_client=http_client,
    )


def seen(provider: str, error: Exception) -> Sighting:
    """What `error`, raised by a call through the SDK, says of it. Never its text."""
    match error:
        case openai.APIStatusError():
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            wait = retry_after(headers, datetime.now(UTC))
            return Sighting(provider=provider, status=error.status_code, retry_after=wait)
        case openai.APIConnectionError():
            return Sighting(provider=provider, sent=not isinstance(error.__cause__, _NOT_SENT))
        case httpx2.TransportError():
            return Sighting(provider=provider, sent=not isinstance(error, _NOT_SENT))
        case _:
            return Sighting(provider=provider, garbled=True)


def error_code(error: Exception) -> str | None:
    """The provider's own code of a refusal, such as `moderation_blocked`."""
    return error.code if isinstance(error, openai.APIStatusError) else None
