"""An issuer of tokens over real HTTP: RSA keys with rotation, a key set with faults, tokens good and bad."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@cache
def rsa_key(name: str) -> rsa.RSAPrivateKey:
    """The key called `name`: made once, because making one takes a while."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_jwk(name: str, **changes: Any) -> dict[str, Any]:
    """The public half as a key set shows it; `changes` replace members of it, None takes one out."""
    shown = RSAAlgorithm.to_jwk(rsa_key(name).public_key(), as_dict=True)
    shown = {key: value for key, value in shown.items() if key in {"kty", "n", "e"}}
    shown |= {"kid": name, "use": "sig", "alg": "RS256"} | changes
    return {key: value for key, value in shown.items() if value is not None}


def token(
    claims: Mapping[str, Any],
    key: str = "first",
    *,
    headers: Mapping[str, Any] | None = None,
    kid: str | None = "",
) -> str:
    """A token signed with the RSA key called `key`; with `kid` None it does not name it."""
    given = dict(headers or {})
    if kid is not None:
        given["kid"] = kid or key
    return jwt.encode(dict(claims), rsa_key(key), algorithm="RS256", headers=given)


def entra_claims(
    *, tenant: str, audience: str, app_id: str, role: str, now: datetime, version: int = 2
) -> dict[str, Any]:
    """As Entra ID issues them to an application.

    https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference
    """
    issued = int(now.timestamp())
    issuers = {
        1: f"https://sts.windows.net/{tenant}/",
        2: f"https://login.microsoftonline.com/{tenant}/v2.0",
    }
    return {
        "aud": audience,
        "iss": issuers[version],
        "iat": issued,
        "nbf": issued,
        "exp": issued + int(timedelta(hours=1).total_seconds()),
        "azp" if version == 2 else "appid": app_id,
        "tid": tenant,
        "sub": "99990000-aaaa-bbbb-cccc-ddddeeeeffff",
        "roles": [role],
        "ver": f"{version}.0",
    }


class Issuer:
    """What is served at `address`. `answer` replaces the key set by a fault until it is None again."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        self.keys: list[dict[str, Any]] = [public_jwk("first")]
        self.answer: Handler | None = None
        self.paths: list[str] = []

    @property
    def address(self) -> str:
        return f"{self.origin}/keys"

    @property
    def fetches(self) -> int:
        """How often anything was asked of this server, at whatever path."""
        return len(self.paths)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.paths.append(request.path)
        if self.answer is not None:
            return await self.answer(request)
        return web.json_response({"keys": self.keys})


@asynccontextmanager
async def running_issuer() -> AsyncIterator[Issuer]:
    """On a free port of this machine, for the test's own event loop."""
    application = web.Application()
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    served: list[Issuer] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        return await served[0].serve(request)

    application.router.add_route("*", "/{path:.*}", serve)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        served.append(Issuer(runner.addresses[0][1]))
        yield served[0]
    finally:
        await runner.cleanup()


def redirect(location: str) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": location})

    return answer


def content(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status, headers=headers)

    return answer


def endless(chunk: bytes = b" " * 65536) -> Handler:
    """A key set that never stops growing."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(chunk)

    return answer


def never(begin: bytes = b"") -> Handler:
    """A server that takes the request and is silent, once it has sent `begin`, until the caller goes."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if begin:
            await response.prepare(request)
            await response.write(begin)
        await asyncio.Event().wait()  # cancelled when the caller goes
        return response

    return answer


def json_content(document: object) -> Handler:
    return content(json.dumps(document).encode())
