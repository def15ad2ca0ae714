"""Published public keys (JWKS), cached: the addresses come from pipeline.toml, never from a request."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import aiohttp

from shared.webhooks.base import Jwk
from shared.webhooks.secrets import KeysUnavailable

logger = logging.getLogger("afterhook.webhooks")
FETCH_SECONDS = 1.5  # within the shortest time in which a sender waits for its answer
FRESH_SECONDS = 3600.0
LONGEST_SECONDS = 24 * 3600.0
"""fal.ai asks for at most 24 hours: https://docs.fal.ai/model-endpoints/webhooks"""
AGAIN_SECONDS = 60.0
WITHOUT_KEYS_SECONDS = 1.0
LARGEST_SET = 256 * 1024  # bytes


@dataclass(slots=True)
class _Entry:
    """`tried_at` is when the last fetch began; `readings` counts those that brought keys."""

    keys: tuple[Jwk, ...] | None = None
    fetched_at: float = 0.0
    tried_at: float = float("-inf")
    readings: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class KeySets:
    """KeyDirectory over HTTP. A copy that cannot be renewed serves on until it is a day old."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._entries: dict[str, _Entry] = {}
        self._session: aiohttp.ClientSession | None = None

    def readings(self, address: str) -> int:
        """As the port says."""
        entry = self._entries.get(address)
        return 0 if entry is None else entry.readings

    async def keys(self, address: str, *, after: int = 0) -> Sequence[Jwk]:
        """As the port says."""
        entry = self._entries.setdefault(address, _Entry())
        if self._due(entry, after) or (self._needed(entry, after) and entry.lock.locked()):
            async with entry.lock:  # one fetch serves all who wait
                if self._due(entry, after):
                    await self._renew(address, entry)
        if entry.keys is None or self._needed(entry, after):
            raise KeysUnavailable
        return entry.keys

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _due(self, entry: _Entry, after: int) -> bool:
        rest = AGAIN_SECONDS if self._usable(entry) else WITHOUT_KEYS_SECONDS
        rested = self._monotonic() - entry.tried_at >= rest
        return rested and (self._needed(entry, after) or self._age(entry) > FRESH_SECONDS)

    def _needed(self, entry: _Entry, after: int) -> bool:
        return not self._usable(entry) or entry.readings <= after

    def _usable(self, entry: _Entry) -> bool:
        return entry.keys is not None and self._age(entry) <= LONGEST_SECONDS

    def _age(self, entry: _Entry) -> float:
        return self._monotonic() - entry.fetched_at

    async def _renew(self, address: str, entry: _Entry) -> None:
        """A fetch that fails or is cut off (its caller gave up) leaves what there is."""
        began = entry.tried_at = self._monotonic()
        try:
            keys = await self._fetch(address)
        except (aiohttp.ClientError, OSError, ValueError, RecursionError) as error:
            logger.warning("The key set %s could not be read: %s", address, type(error).__name__)
            return
        entry.keys, entry.fetched_at = keys, began
        entry.readings += 1

    async def _fetch(self, address: str) -> tuple[Jwk, ...]:
        """Raises ValueError for an answer that is no key set, or too large; nothing is followed."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=FETCH_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "identity"},
                auto_decompress=False,  # a small answer could be a large one
            )
        async with self._session.get(address, allow_redirects=False) as response:
            if response.status != 200:
                raise ValueError("not 200")
            body = bytearray()
            async for chunk in response.content.iter_chunked(16 * 1024):
                body += chunk
                if len(body) > LARGEST_SET:
                    raise ValueError("too large")
        return _keys_in(bytes(body))


def _keys_in(body: bytes) -> tuple[Jwk, ...]:
    """The keys of a JWKS. Raises ValueError when it is none, or an empty one."""
    document = json.loads(body)
    keys = document.get("keys") if isinstance(document, dict) else None
    found = tuple(key for key in keys if isinstance(key, dict)) if isinstance(keys, list) else ()
    if not found:
        raise ValueError("no keys")
    return found
