"""An HTTP request in the form the Functions host hands to a worker.

Source: GrpcMessageConversionExtensions.cs in Azure/azure-functions-host, and ASP.NET Core's QueryHelpers and
PathString for how a query and a path are read.
"""

import codecs
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from azure.functions.meta import Datum

from devhost.functions.convert import text

_PATH_SAFE = "/-._~!$&'()*+,;=:@"
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ABSOLUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/?]*")


def _keep_escaped(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are no UTF-8 stay percent-encoded."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(f"%{byte:02X}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error("keep_escaped", _keep_escaped)


@dataclass(frozen=True, slots=True)
class Target:
    """A request target, taken apart."""

    path: str
    """Decoded, but for `%2F`."""
    query: str
    """As sent, with its `?`; empty without one."""


def parse_target(raw: str) -> Target:
    """Take apart a request target in origin form, or in absolute form (whose host is ignored)."""
    target = _ABSOLUTE.sub("", raw, count=1) if not raw.startswith("/") else raw
    path, question, query = target.partition("?")
    return Target(_normalize(_unescape_path(path or "/")), question + query)


def request_url(scheme: str, host: str, target: Target) -> str:
    """`req.url`: rebuilt by the host, so not always what the client called."""
    path = _PERCENT.sub("%25", quote(target.path, safe=_PATH_SAFE + "%"))
    return f"{scheme}://{host}{path}{target.query}"


def scheme_of(forwarded_proto: str | None) -> str:
    """The first item of X-Forwarded-Proto is the client's side; without it, or with nonsense in it, http."""
    first = (forwarded_proto or "").split(",")[0].strip().lower()
    return "https" if first == "https" else "http"


def parse_query(query: str) -> dict[str, str]:
    """`req.params`: names without case, repeated ones joined by commas, empty values dropped."""
    values: dict[str, tuple[str, list[str]]] = {}
    for part in query.removeprefix("?").split("&"):
        if part:
            name, _, value = part.partition("=")
            name = _unescape(name.replace("+", " "))
            values.setdefault(name.lower(), (name, []))[1].append(_unescape(value.replace("+", " ")))
    joined = {name: ",".join(found) for name, found in values.values()}
    return {name: value for name, value in joined.items() if value}


def join_headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Names in lower case, repeated headers joined by commas. Raises UnicodeDecodeError if not UTF-8."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in raw:
        name, value = raw_name.decode("utf-8").lower(), raw_value.decode("utf-8").strip(" \t")
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    return headers


def http_datum(
    method: str,
    url: str,
    headers: Mapping[str, str],
    query: Mapping[str, str],
    route: Mapping[str, str],
    body: bytes,
) -> Datum:
    """The request as the library's HttpRequestConverter reads it."""
    return Datum(
        {
            "method": text(method),
            "url": text(url),
            "headers": {name: text(value) for name, value in headers.items()},
            "query": {name: text(value) for name, value in query.items()},
            "params": {name: text(value) for name, value in route.items()},
            "body": Datum(body, "bytes"),
        },
        "http",
    )


def _unescape(escaped: str) -> str:
    return unquote_to_bytes(escaped).decode("utf-8", "keep_escaped")


def _unescape_path(escaped: str) -> str:
    """Decode all but an escaped slash, which would change the segments."""
    return "".join(
        piece if piece.lower() == "%2f" else _unescape(piece) for piece in re.split("(%2[Ff])", escaped)
    )


def _normalize(path: str) -> str:
    """Remove `.` and `..` segments (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/".join(kept) or "/"
