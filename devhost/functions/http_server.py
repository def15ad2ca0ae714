"""The HTTP front: routing, keys, limits, and one function call a request."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Mapping

from aiohttp import web
from azure.functions.meta import Datum

from devhost.functions.context import child_trace
from devhost.functions.cors import CorsPolicy
from devhost.functions.http_data import (
    Target,
    http_datum,
    join_headers,
    parse_query,
    parse_target,
    request_url,
    scheme_of,
)
from devhost.functions.http_protocol import HttpServer
from devhost.functions.http_response import to_response
from devhost.functions.http_routing import HttpRoute, Router
from devhost.functions.invocation import Invoker
from devhost.functions.keys import AccessKeys
from devhost.functions.log import host_log

DEFAULT_BODY_LIMIT = 104_857_600
"""Bytes; the app setting FUNCTIONS_REQUEST_BODY_SIZE_LIMIT changes it."""
LARGE_BODY = 1024 * 1024
LARGE_AT_ONCE = 16
"""The platform gives an instance no more requests at once than its HTTP concurrency, 16 on Flex Consumption
with 2 GB of memory. Here that holds for large bodies only: further ones wait unread.

Source: https://learn.microsoft.com/azure/azure-functions/functions-concurrency
"""
ANSWER_SECONDS = 230.0
"""The platform's load balancer waits no longer for an answer; the function runs on."""


class HttpFront:
    """Listens on 127.0.0.1 and answers from the app's HTTP functions."""

    def __init__(
        self,
        router: Router,
        keys: AccessKeys,
        invoker: Invoker,
        *,
        body_limit: int = DEFAULT_BODY_LIMIT,
        answer_seconds: float = ANSWER_SECONDS,
        cors: CorsPolicy | None = None,
    ) -> None:
        self._router = router
        self._keys = keys
        self._invoker = invoker
        self._body_limit = body_limit
        self._answer_seconds = answer_seconds
        self._cors = cors
        self._stopping = False
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._calls: set[asyncio.Task[web.Response]] = set()
        self._runner: web.ServerRunner | None = None
        self._site: web.SockSite | None = None

    async def start(self, port: int) -> int:
        """Listen on `port` (0: a free one) and return the port."""
        server = HttpServer(self._handle, body_limit=self._body_limit)
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        listener = socket.create_server(("127.0.0.1", port), backlog=512)
        self._site = web.SockSite(self._runner, listener)
        await self._site.start()
        return int(listener.getsockname()[1])

    async def stop_accepting(self) -> None:
        """Refuse new connections; requests on open ones are answered 503 from now on."""
        self._stopping = True
        if self._site is not None:
            await self._site.stop()

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        started = time.monotonic()
        target = parse_target(request.raw_path)
        headers = _headers_of(request)
        response = web.Response(status=400) if headers is None else await self._pass(request, target, headers)
        host_log.info(
            "event=http method=%s path=%r status=%d ms=%d",
            request.method,
            self._router.shown(target.path),
            response.status,
            round((time.monotonic() - started) * 1000),
        )
        return response

    async def _pass(
        self, request: web.BaseRequest, target: Target, headers: Mapping[str, str]
    ) -> web.Response:
        """Through the CORS layer, if there is one, to the functions."""
        if self._cors is None:
            return await self._answer(request, target, headers)
        preflight = self._cors.preflight(request.method, headers)
        if preflight is not None:
            return web.Response(status=204, headers=preflight)
        response = await self._answer(request, target, headers)
        response.headers.update(self._cors.headers_for(headers.get("origin")))
        return response

    async def _answer(
        self, request: web.BaseRequest, target: Target, headers: Mapping[str, str]
    ) -> web.Response:
        if self._stopping:
            return web.Response(status=503, headers={"Connection": "close"})
        found = self._router.find(request.method, target.path)
        if found is None:
            return _homepage() if target.path == "/" else web.Response(status=404)
        route = found[0]
        query = parse_query(target.query)
        if not self._keys.allow(route.auth_level, route.function.name, _given_key(headers, query)):
            return web.Response(status=401)
        length = request.content_length or 0
        if length > self._body_limit:
            return web.Response(status=413, headers={"Connection": "close"})
        async with self._large if length > LARGE_BODY else contextlib.nullcontext():
            return await self._invoke(request, target, headers, found, query)

    async def _invoke(
        self,
        request: web.BaseRequest,
        target: Target,
        headers: Mapping[str, str],
        found: tuple[HttpRoute, Mapping[str, str]],
        query: Mapping[str, str],
    ) -> web.Response:
        route, values = found
        # A body without Content-Length (chunked) never reaches a function.
        body = await request.read() if request.content_length else b""
        url = request_url(scheme_of(headers.get("x-forwarded-proto")), headers.get("host", ""), target)
        call = asyncio.create_task(
            self._call(route, http_datum(request.method, url, headers, query, values, body), headers)
        )
        return await self._within_limit(call, route)

    async def _within_limit(self, call: asyncio.Task[web.Response], route: HttpRoute) -> web.Response:
        """The call's answer, or 504; a client that waits no longer does not stop the function."""
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        done, _ = await asyncio.wait({call}, timeout=self._answer_seconds)
        if done:
            return call.result()
        host_log.warning(
            "event=answer_timeout function=%s after_s=%g", route.function.name, self._answer_seconds
        )
        return web.Response(status=504)

    async def _call(self, route: HttpRoute, datum: Datum, headers: Mapping[str, str]) -> web.Response:
        function = route.function
        try:
            trace = child_trace(headers.get("traceparent"), headers.get("tracestate"))
            result = await self._invoker.invoke(function, datum, trace)
        except Exception:  # noqa: BLE001 - whatever the function raises is its 500; the invoker has logged it
            return web.Response(status=500)
        if result is None:
            return web.Response(status=204)
        try:
            return to_response(result)
        except Exception as error:  # noqa: BLE001 - a result HTTP cannot carry is the function's 500
            host_log.error("event=bad_result function=%s", function.name, exc_info=error)
            return web.Response(status=500)


def _headers_of(request: web.BaseRequest) -> dict[str, str] | None:
    """None when they are no UTF-8."""
    try:
        return join_headers(request.raw_headers)
    except UnicodeDecodeError:
        return None


def _given_key(headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
    """The header wins over `?code=`."""
    return headers.get("x-functions-key") or query.get("code")


def _homepage() -> web.Response:
    return web.Response(text="Your Functions app is up and running.")
