"""What the HTTP front writes down of a request."""

import logging
from datetime import timedelta

import aiohttp
import pytest

from devhost.functions.definitions import FunctionDefinition
from devhost.functions.http_routing import Router
from devhost.functions.http_server import HttpFront
from devhost.functions.invocation import Invoker
from devhost.functions.keys import generate_keys
from devhost.ports import LOOPBACK
from tests.support.own_worker import knowing

TRIGGER = {"type": "httpTrigger", "name": "req", "route": "callbacks/{token}", "authLevel": "anonymous"}
TRIGGER_OF_POSTS = {**TRIGGER, "methods": ["post"]}


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_the_line_of_a_request_has_no_token_and_no_query(
    caplog: pytest.LogCaptureFixture, method: str
) -> None:
    worker, function = knowing(lambda **_: None, TRIGGER_OF_POSTS, return_binding="http")
    functions: list[FunctionDefinition] = [function]
    invoker = Invoker(timedelta(seconds=30), worker)
    front = HttpFront(Router(functions, "api"), generate_keys([function.name]), invoker)
    port = await front.start(0)
    try:
        with caplog.at_level(logging.INFO, logger="host"):
            async with (
                aiohttp.ClientSession(f"http://{LOOPBACK}:{port}") as client,
                client.request(method, "/api/callbacks/v1.abc.def?code=v2.ghi", data=b"x"),
            ):
                pass
    finally:
        await front.stop_accepting()
        await front.close()
    (line,) = [record.getMessage() for record in caplog.records if "event=http " in record.getMessage()]
    assert f"method={method} path='/api/callbacks/***'" in line
    assert not any(secret in caplog.text for secret in ("v1.abc", "v2.ghi"))
