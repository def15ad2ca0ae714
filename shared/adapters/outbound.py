"""HTTP to addresses that others gave us: connects only to addresses that were checked.

The name is resolved once and the connection goes to what was judged, so that a name cannot lead elsewhere
between the check and the connection (DNS rebinding). The check of the URL itself is `check_target`'s.
"""

import socket
from collections.abc import Collection

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from shared.outbound.targets import may_connect

CONNECT_SECONDS = 5.0


class NotPublic(OSError):
    """The name leads to an address that nothing may connect to."""


class CheckedResolver(AbstractResolver):
    """Resolves names; raises NotPublic unless every address of a name may be connected to."""

    def __init__(self, private: Collection[str], resolver: AbstractResolver | None = None) -> None:
        self._private = frozenset(private)
        self._resolver = resolver or ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        if not may_connect(host, port, [result["host"] for result in found], self._private):
            raise NotPublic("not a public address")
        return found

    async def close(self) -> None:
        await self._resolver.close()


def checked_session(
    private: Collection[str], *, seconds: float, connections: int, resolver: AbstractResolver | None = None
) -> aiohttp.ClientSession:
    """A session for checked targets. Requests must pass `allow_redirects=False`.

    `seconds` bounds a whole request, `connections` how many there are at once; no cookies, no proxy, and
    answers come as they are (a small compressed one could be a large one).
    """
    connector = aiohttp.TCPConnector(
        resolver=CheckedResolver(private, resolver), use_dns_cache=False, limit=connections
    )
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": "identity", "User-Agent": "afterhook"},
        auto_decompress=False,
        trust_env=False,
    )


def refused_as_private(error: BaseException) -> bool:
    """Whether a request failed because of NotPublic."""
    return isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, NotPublic)
