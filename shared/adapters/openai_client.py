"""A client of an OpenAI-compatible API: made at its first use, bounded, and its errors put in our words."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from shared.ai.providers import ApiAddress
from shared.calls.failures import CallFailed, FailureKind, Sighting, classify
from shared.errors import AfterhookError

if TYPE_CHECKING:
    import httpx2
    from azure.identity.aio import DefaultAzureCredential
    from openai import AsyncOpenAI

T = TypeVar("T")
AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"
"""https://learn.microsoft.com/azure/ai-foundry/openai/how-to/managed-identity"""
NO_KEY = "none"
"""The SDK wants one; services that need none ignore it."""
BAD_REQUEST = 400
_POLICY = ("moderation", "content_policy", "content_filter", "contentfilter")


class RefusedByPolicy(CallFailed):
    """The provider's content policy refuses this call. Resubmit with another input."""

    code = "content_refused"

    def __init__(self, provider: str) -> None:
        """Counts as a 400 whatever the answer's status was: it is the input that must change."""
        super().__init__(provider, FailureKind.REJECTED, status=BAD_REQUEST)
        self.args = (f"{provider}: its content policy refuses this. Resubmit with another input.",)


class OpenAIClient:
    """Belongs to the event loop that first uses it. What it raises is CallFailed."""

    def __init__(self, address: ApiAddress) -> None:
        self._address = address
        self._client: AsyncOpenAI | None = None
        self._credential: DefaultAzureCredential | None = None
        self._lock = asyncio.Lock()

    @property
    def provider(self) -> str:
        return self._address.provider

    async def prepare(self) -> None:
        """Load the SDK and make the client; nothing is sent."""
        await self._ready()

    async def json(self, call: "Callable[[AsyncOpenAI], Awaitable[httpx2.Response]]") -> "Answer":
        """The JSON object that a call was answered with; CallFailed (unclear) if it is none."""
        async with self._translated() as client:
            response = await call(client)
            document = json.loads(response.content)
            if not isinstance(document, dict):
                raise TypeError("not an object")
            return Answer(document, {name.lower(): value for name, value in response.headers.items()})

    @asynccontextmanager
    async def stream(
        self, call: "Callable[[AsyncOpenAI], Awaitable[httpx2.Response]]"
    ) -> "AsyncIterator[httpx2.Response]":
        """An answer that the caller reads; the errors of reading it are translated too."""
        async with self._translated() as client:
            response = await call(client)
            try:
                yield response
            finally:
                await response.aclose()

    async def aclose(self) -> None:
        client, self._client = self._client, None
        credential, self._credential = self._credential, None
        if client is not None:
            await client.close()
        if credential is not None:
            await credential.close()

    @asynccontextmanager
    async def _translated(self) -> "AsyncIterator[AsyncOpenAI]":
        client = await self._ready()
        from shared.adapters import openai_sdk  # loaded by now

        try:
            yield client
        except AfterhookError:
            raise
        except Exception as error:  # noqa: BLE001  whatever the SDK raises, an answer that cannot be read too
            if is_policy(openai_sdk.error_code(error)):
                raise RefusedByPolicy(self.provider) from None
            raise classify(openai_sdk.seen(self.provider, error)) from None

    async def _ready(self) -> "AsyncOpenAI":
        if self._client is None:
            async with self._lock:
                if self._client is None:
                    self._client = await asyncio.to_thread(self._make)
        return self._client

    def _make(self) -> "AsyncOpenAI":
        from shared.adapters.openai_sdk import make_client

        address = self._address
        if address.key is not None:
            key: str | Callable[[], Awaitable[str]] = address.key.get_secret_value()
        else:
            key = self._token if address.managed_identity else NO_KEY
        return make_client(address.base_url, key, address.seconds)

    async def _token(self) -> str:
        from azure.core.exceptions import AzureError

        try:
            if self._credential is None:
                self._credential = await asyncio.to_thread(_azure_credential)
            return (await self._credential.get_token(AZURE_SCOPE)).token
        except (AzureError, OSError):
            raise classify(Sighting(provider=self.provider, sent=False)) from None


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object and the headers it came with, by lower-case name."""

    document: dict[str, Any] = field(repr=False)
    headers: dict[str, str] = field(repr=False)


def is_policy(code: str | None) -> bool:
    """Whether a provider's error code speaks of its content policy."""
    return code is not None and any(word in code.lower() for word in _POLICY)


def _azure_credential() -> "DefaultAzureCredential":
    from azure.identity.aio import DefaultAzureCredential

    return DefaultAzureCredential()
