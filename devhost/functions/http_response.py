"""A function's HTTP result, turned into what goes on the wire."""

from http.cookies import SimpleCookie
from typing import Any

from aiohttp import web
from azure.functions.meta import Datum
from multidict import CIMultiDict

# The server frames the body itself.
_OWN_HEADERS = frozenset({"content-length", "transfer-encoding", "connection"})


def to_response(datum: Datum) -> web.Response:
    """Build the response from what HttpResponseConverter gave. Raises ValueError if HTTP cannot carry it."""
    if datum.type == "string":
        return web.Response(text=str(datum.value))
    value: dict[str, Any] = datum.value
    headers: CIMultiDict[str] = CIMultiDict()
    for name, header in value["headers"].items():
        if name.lower() not in _OWN_HEADERS:
            _refuse_line_breaks(name, header.value)
            headers[name] = header.value
    for cookie in value["cookies"] or ():
        _add_cookie(headers, cookie)
    status = int(value["status_code"].value)
    if not 200 <= status <= 599:
        raise ValueError(f"{status} is no HTTP status a function can answer with")
    return web.Response(status=status, headers=headers, body=value["body"].value)


def _add_cookie(headers: CIMultiDict[str], cookie: SimpleCookie) -> None:
    for morsel in cookie.values():
        headers.add("Set-Cookie", morsel.OutputString())


def _refuse_line_breaks(name: str, value: str) -> None:
    if any(character in f"{name}{value}" for character in "\r\n\0"):
        raise ValueError(f"response header {name!r} holds a line break or a NUL")
