"""The client itself: who it says we are, what it takes, and what it lets out."""

import asyncio
import gzip
import subprocess
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from aiohttp import web
from azure.core.exceptions import ClientAuthenticationError
from openai import AsyncOpenAI
from pydantic import SecretStr

from shared.adapters import openai_client
from shared.adapters.openai_client import AZURE_SCOPE, OpenAIClient, is_policy
from shared.ai.providers import ApiAddress
from shared.calls.failures import CallFailed, FailureKind
from shared.settings import APP_ROOT


class Server:
    """Keeps the requests' headers; answers each with `response`."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.response: dict[str, Any] = {"text": '{"id": "x"}', "content_type": "application/json"}
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        return web.Response(**self.response)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made, app = Server(), web.Application()
    app.router.add_get("/{tail:.*}", made.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield made
    await runner.cleanup()


async def get(client: AsyncOpenAI) -> httpx2.Response:
    return await client.get("/videos/x", cast_to=httpx2.Response)


async def ask(address: ApiAddress) -> dict[str, Any]:
    client = OpenAIClient(address)
    try:
        return (await client.json(get)).document
    finally:
        await client.aclose()


async def test_it_signs_in_with_the_key(server: Server) -> None:
    assert await ask(ApiAddress(provider="p", base_url=server.url, key=SecretStr("k-1"))) == {"id": "x"}
    assert server.headers[0]["authorization"] == "Bearer k-1"
    assert server.headers[0]["accept-encoding"] == "identity"


async def test_a_service_without_keys_is_told_none_of_ours(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    await ask(ApiAddress(provider="p", base_url=server.url))
    assert server.headers[0]["authorization"] == "Bearer none"


class Credential:
    """Azure's, as far as it is asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.scopes: list[str] = []
        self.closed = False

    async def get_token(self, scope: str) -> SimpleNamespace:
        self.scopes.append(scope)
        if self.error is not None:
            raise self.error
        return SimpleNamespace(token=f"token-{len(self.scopes)}")

    async def close(self) -> None:
        self.closed = True


async def test_the_apps_identity_signs_in_with_a_token(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    credential = Credential()
    monkeypatch.setattr(openai_client, "_azure_credential", lambda: credential)
    await ask(ApiAddress(provider="azure", base_url=server.url, managed_identity=True))
    assert (credential.scopes, credential.closed) == ([AZURE_SCOPE], True)
    assert server.headers[0]["authorization"] == "Bearer token-1"


async def test_without_a_token_nothing_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    credential = Credential(ClientAuthenticationError("marked-word"))
    monkeypatch.setattr(openai_client, "_azure_credential", lambda: credential)
    with pytest.raises(CallFailed) as caught:
        await ask(ApiAddress(provider="azure", base_url=server.url, managed_identity=True))
    assert caught.value.kind is FailureKind.NOT_SENT
    assert "marked-word" not in str(caught.value)
    assert server.headers == []


@pytest.mark.parametrize(
    "response",
    [
        {"body": gzip.compress(b'{"id": "x"}'), "headers": {"Content-Encoding": "gzip"}},
        {"text": "[1]", "content_type": "application/json"},
        {"text": "null", "content_type": "application/json"},
        {"text": "[" * 100_000, "content_type": "application/json"},
        {"body": b"\xff\xfe\x00", "content_type": "application/json"},
        {"status": 302, "headers": {"Location": "/elsewhere"}},
        {"status": 500, "body": b"x" * (3 * 1024 * 1024)},
    ],
    ids=["compressed", "list", "null", "nested", "bytes", "redirect", "long error"],
)
async def test_an_answer_that_no_one_should_give_is_unclear(server: Server, response: dict[str, Any]) -> None:
    server.response = response
    with pytest.raises(CallFailed) as caught:
        await ask(ApiAddress(provider="p", base_url=server.url))
    assert caught.value.kind is FailureKind.UNCLEAR
    assert len(server.headers) == 1


async def test_the_client_is_made_once_by_many_at_once(server: Server) -> None:
    client = OpenAIClient(ApiAddress(provider="p", base_url=server.url))
    await asyncio.gather(*(client.prepare() for _ in range(5)))
    assert len({id(await client._ready()) for _ in range(2)}) == 1
    await client.aclose()


def test_importing_the_adapters_does_not_load_the_sdk() -> None:
    modules = "openai_client, openai_videos, openai_summarizer, downloads"
    code = f"import sys; from shared.adapters import {modules}; print('openai' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=APP_ROOT, capture_output=True, text=True, check=True, timeout=160
    )
    assert found.stdout.split() == ["False"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("moderation_blocked", True),
        ("content_policy_violation", True),
        ("contentFilter", True),
        ("invalid_value", False),
        ("", False),
        (None, False),
    ],
)
def test_a_code_that_speaks_of_the_policy_is_told_by_its_words(code: str | None, expected: bool) -> None:
    assert is_policy(code) is expected
