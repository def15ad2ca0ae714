"""Cross-origin requests: `Host.CORS` and `Host.CORSCredentials` of local.settings.json.

The platform's CORS layer stands before the code: it answers preflights itself and adds its headers to every
other answer, whoever may read it. Without `CORS`, OPTIONS is a method as any other and no header is added.
Sources: https://learn.microsoft.com/azure/azure-functions/functions-develop-local#local-settings-file and
CorsService in ASP.NET Core, which the local host of Microsoft uses with "any header, any method".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devhost.functions.errors import StartError
from devhost.functions.settings import read_document

_ANY = "*"
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\sA-Z]+")


@dataclass(frozen=True, slots=True)
class CorsPolicy:
    """Who may read the answers in a browser."""

    origins: frozenset[str]
    """Exact origins, or `*`."""
    credentials: bool

    def preflight(self, method: str, headers: Mapping[str, str]) -> dict[str, str] | None:
        """The headers of the answer to a preflight; None when the request is none."""
        wanted = headers.get("access-control-request-method")
        if method != "OPTIONS" or "origin" not in headers or not wanted:
            return None
        granted = self.headers_for(headers["origin"])
        if granted:
            granted["Access-Control-Allow-Methods"] = wanted
            if asked := headers.get("access-control-request-headers"):
                granted["Access-Control-Allow-Headers"] = asked
        return granted

    def headers_for(self, origin: str | None) -> dict[str, str]:
        """What an answer to this origin carries; nothing for a stranger or without an origin."""
        if origin is None or not ({origin, _ANY} & self.origins):
            return {}
        if _ANY in self.origins:
            return {"Access-Control-Allow-Origin": _ANY}
        granted = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
        return granted | ({"Access-Control-Allow-Credentials": "true"} if self.credentials else {})


def read_cors(path: Path) -> CorsPolicy | None:
    """The policy a local.settings.json asks for, None without one. Raises StartError with what is wrong."""
    host = read_document(path).get("Host", {})
    if not isinstance(host, dict):
        raise StartError(f'{path}: "Host" must be an object')
    listed, credentials = host.get("CORS"), host.get("CORSCredentials", False)
    if not isinstance(credentials, bool):
        raise StartError(f"{path}: Host.CORSCredentials must be true or false")
    if listed is None or listed == "":
        return None
    if not isinstance(listed, str):
        raise StartError(f'{path}: Host.CORS must be a string: origins separated by commas, or "*"')
    origins = frozenset(origin.strip() for origin in listed.split(","))
    wrong = sorted(origin for origin in origins - {_ANY} if not _ORIGIN.fullmatch(origin))
    if wrong:
        raise StartError(
            [
                f"{path}: Host.CORS: {origin!r} is no origin; write scheme://host[:port], in lower case"
                for origin in wrong
            ]
        )
    if _ANY in origins and (credentials or len(origins) > 1):
        raise StartError(
            f'{path}: Host.CORS: "*" must stand alone and cannot be combined with CORSCredentials; '
            "list the origins instead"
        )
    return CorsPolicy(origins, credentials)
