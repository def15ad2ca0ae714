"""The outside over HTTP."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator

from aiohttp import web

from devhost.outside.control import PREFIX, Control
from devhost.outside.faults import Delivery, Holds, perform
from devhost.outside.messages import Answer, Call
from devhost.outside.posting import Sender
from devhost.outside.routes import problem
from devhost.outside.scripts import Scripts
from devhost.outside.steps import Fault, Step
from devhost.outside.world import World

MOST_BODY = 32 * 1024 * 1024
MOST_CALLS = 2_000
_CHUNK = b"a" * 65_536
_SECRET_HEADERS = ("authorization", "api-key", "cookie")
_END_SECONDS = 0.5
NO_CONTENT = 204


class Server:
    """Takes calls, each through the step that the scripts have for it."""

    def __init__(self, world: World, sender: Sender) -> None:
        self._world = world
        self._sender = sender
        self._scripts = Scripts()
        self._holds = Holds()
        self._control = Control(world, self._scripts, self._holds, sender)
        self._calls = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        if request.path == PREFIX or request.path.startswith(f"{PREFIX}/"):
            answer = self._control.handle(await self._call(request))
            await self._post(answer)
            return _response(answer)
        if self._calls >= MOST_CALLS:
            return _response(problem(503, "busy", f"{MOST_CALLS} calls are being answered."))
        self._calls += 1
        try:
            return await self._answer(request)
        finally:
            self._calls -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        call = await self._call(request)
        self._world.arrived(call)
        step = self._scripts.step(call)
        delivery = await self._perform(call, step)
        await self._post(delivery.answer, at_once=bool(step.reply.get("callback_first")))
        return await _deliver(request, delivery)

    async def _perform(self, call: Call, step: Step) -> Delivery:
        resets = self._control.resets

        def act() -> Answer:
            if self._control.resets != resets:
                return problem(503, "reset", "Everything was reset while this call was on its way.")
            return self._world.handle(_with_reply(call, step, self._world.now))

        def error(status: int, code: str) -> Answer:
            return self._world.routes.error(call, status, code)

        return await perform(step, act, error, self._holds)

    async def _post(self, answer: Answer, *, at_once: bool = False) -> None:
        for post in answer.posts:
            if not (at_once and await self._sender.once(post)):
                self._sender.later(post)

    async def _call(self, request: web.Request) -> Call:
        headers: dict[str, str] = {}
        for name, value in request.headers.items():
            low = name.lower()
            shown = f"{value.partition(' ')[0]} ***" if low in _SECRET_HEADERS else value
            headers[low] = f"{headers[low]}, {shown}" if low in headers else shown
        return Call(
            request.method,
            request.path,
            self._world.now,
            dict(request.query),
            headers,
            await request.read(),
        )


@contextlib.asynccontextmanager
async def serving(server: Server, host: str, port: int) -> AsyncIterator[int]:
    """Serve for the time of a block, on the port given; 0 takes a free one. Raises OSError."""
    app = web.Application(client_max_size=MOST_BODY)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_END_SECONDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _with_reply(call: Call, step: Step, at: float) -> Call:
    return Call(call.method, call.path, at, call.query, call.headers, call.body, step.reply)


def _response(answer: Answer) -> web.Response:
    content_type = {"content-type": answer.content_type} if answer.status != NO_CONTENT else {}
    return web.Response(status=answer.status, body=answer.body, headers={**answer.headers, **content_type})


async def _deliver(request: web.Request, delivery: Delivery) -> web.StreamResponse:
    if delivery.cut in (Fault.CUT_BEFORE, Fault.CUT_AFTER):
        _cut(request, reset=delivery.reset)
        return web.Response()
    if delivery.cut is Fault.CUT_DURING:
        return await _deliver_half(request, delivery)
    if delivery.filler:
        return await _deliver_much(request, delivery)
    return _response(delivery.answer)


async def _deliver_half(request: web.Request, delivery: Delivery) -> web.StreamResponse:
    response = _response(delivery.answer)
    stream = web.StreamResponse(status=response.status, headers=response.headers)
    body = delivery.answer.body
    stream.content_length = len(body)
    with contextlib.suppress(ConnectionError):
        await stream.prepare(request)
        await stream.write(body[: len(body) // 2])
        await asyncio.sleep(0)
    _cut(request, reset=delivery.reset)
    return stream


async def _deliver_much(request: web.Request, delivery: Delivery) -> web.StreamResponse:
    """The body, its filler, and no length before: the caller has to count for itself."""
    response = _response(delivery.answer)
    stream = web.StreamResponse(status=response.status, headers=response.headers)
    stream.headers.pop("content-length", None)
    stream.enable_chunked_encoding()
    with contextlib.suppress(ConnectionError):
        await stream.prepare(request)
        await stream.write(delivery.answer.body)
        for start in range(0, delivery.filler, len(_CHUNK)):
            await stream.write(_CHUNK[: delivery.filler - start])
        await stream.write_eof(b'"}' if delivery.answer.body.startswith(b'{"padding"') else b"")
    return stream


def _cut(request: web.Request, *, reset: bool) -> None:
    transport = request.transport
    if transport is None:
        return
    peer = transport.get_extra_info("socket")
    if reset and peer is not None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
