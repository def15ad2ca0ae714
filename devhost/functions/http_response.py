"""A function's HTTP result, turned into what goes on the wire."""

from collections.abc import Iterator
from urllib.parse import quote

from aiohttp import web
from multidict import CIMultiDict

from devhost.functions.worker.protocol import Cookie, HttpResult

# The server frames the body itself.
_OWN_HEADERS = frozenset({"content-length", "transfer-encoding", "connection"})
# Kestrel refuses to write a body to these.
_WITHOUT_BODY = frozenset({204, 205, 304})


def to_response(result: HttpResult | str) -> web.Response:
    """Build the response from what the worker gave. Raises ValueError if HTTP cannot carry it."""
    if isinstance(result, str):
        return web.Response(text=result)
    headers: CIMultiDict[str] = CIMultiDict()
    for name, value in result.headers.items():
        if name.lower() not in _OWN_HEADERS:
            _refuse_line_breaks(name, value)
            headers[name] = value
    for cookie in result.cookies:
        headers.add("Set-Cookie", set_cookie(cookie))
    status = int(result.status)
    if not 200 <= status <= 599:
        raise ValueError(f"{status} is no HTTP status a function can answer with")
    if result.body and status in _WITHOUT_BODY:
        raise ValueError(f"an answer with status {status} has no body, but the function gave one")
    return web.Response(status=status, headers=headers, body=result.body)


def set_cookie(cookie: Cookie) -> str:
    """A Set-Cookie header in ASP.NET Core's form, which escapes the value and sets a path of its own.

    Source: ResponseCookies and SetCookieHeaderValue in dotnet/aspnetcore.
    """
    text = "; ".join([f"{cookie.name}={quote(cookie.value, safe='')}", *_attributes(cookie)])
    _refuse_line_breaks("Set-Cookie", text)
    return text


def _attributes(cookie: Cookie) -> Iterator[str]:
    if cookie.expires is not None:
        yield f"expires={cookie.expires:%a, %d %b %Y %H:%M:%S} GMT"
    if cookie.max_age is not None:
        if cookie.max_age < 0:
            raise ValueError(f"cookie {cookie.name!r}: a negative max-age")
        yield f"max-age={int(cookie.max_age)}"
    if cookie.domain:
        yield f"domain={cookie.domain}"
    path = "/" if cookie.path is None else cookie.path
    if path:
        yield f"path={path}"
    if cookie.secure:
        yield "secure"
    if cookie.same_site:
        yield f"samesite={cookie.same_site}"
    if cookie.http_only:
        yield "httponly"


def _refuse_line_breaks(name: str, value: str) -> None:
    if any(character in f"{name}{value}" for character in "\r\n\0"):
        raise ValueError(f"response header {name!r} holds a line break or a NUL")
