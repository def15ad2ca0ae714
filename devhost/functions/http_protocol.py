"""The HTTP server underneath: how a request that cannot be served is answered.

The library's own answers quote the request and explain the error in the body; the host's are empty.
"""

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong
from aiohttp.streams import StreamReader

_HEADER_BYTES = 32_768
_LINE_BYTES = 8_192


class _Connection(web.RequestHandler):
    """One connection. What it logs of errors, the log's own filter words."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - it quotes the request
    ) -> web.StreamResponse:
        super().handle_error(request, status, exc)
        answer = web.Response(status=_too_long(exc) or status)
        answer.force_close()
        return answer


def _too_long(error: BaseException | None) -> int | None:
    """Kestrel's status for a request line or headers that are too long (KestrelBadHttpRequestException)."""
    if not isinstance(error, LineTooLong):
        return None
    return 414 if error.args[1] == _LINE_BYTES else 431


class HttpServer(web.Server):
    """Kestrel's limits of a request line and of a header; the body as it was sent, compressed or not."""

    def __init__(self, handler: Any, *, body_limit: int) -> None:
        super().__init__(
            handler,
            request_factory=self._request,
            access_log=None,
            auto_decompress=False,
            max_line_size=_LINE_BYTES,
            max_field_size=_HEADER_BYTES,
        )
        self._body_limit = body_limit

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)

    def _request(
        self,
        message: Any,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: Any,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        return web.BaseRequest(
            message, payload, protocol, writer, task, self._loop, client_max_size=self._body_limit
        )
