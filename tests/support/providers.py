"""Clients of the outside's OpenAI-compatible API, for tests."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from pydantic import SecretStr

from devhost.outside import Outside
from shared.adapters.openai_client import OpenAIClient
from shared.ai.providers import ApiAddress

KEY = "an-invented-key"


@contextmanager
def outside() -> Iterator[Outside]:
    """One for a module; each test begins with `reset`."""
    with Outside() as world:
        yield world


@asynccontextmanager
async def client_of(
    base_url: str, *, provider: str = "videos", seconds: float = 10.0
) -> AsyncIterator[OpenAIClient]:
    client = OpenAIClient(
        ApiAddress(provider=provider, base_url=base_url, key=SecretStr(KEY), seconds=seconds)
    )
    try:
        yield client
    finally:
        await client.aclose()
