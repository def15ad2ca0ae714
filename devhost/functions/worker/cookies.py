"""The cookies of a function's answer, read with the Python worker's rules and errors.

Source: `parse_to_rpc_http_cookie_list` in the PyPI package azure-functions-runtime.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from http.cookies import Morsel, SimpleCookie

from devhost.functions.worker.protocol import Cookie, SameSite

_EXPIRES = "%a, %d %b %Y %H:%M:%S GMT"


def read_cookies(cookies: Iterable[SimpleCookie]) -> tuple[Cookie, ...]:
    """Raises ValueError or TypeError for an expiry or an age that cannot be read."""
    return tuple(_read(morsel) for cookie in cookies for morsel in cookie.values())


def _read(morsel: "Morsel[str]") -> Cookie:
    return Cookie(
        name=morsel.key,
        value=morsel.value,
        domain=str(morsel["domain"]),
        path=str(morsel["path"]),
        expires=_expires(str(morsel["expires"])),
        max_age=_max_age(str(morsel["max-age"])),
        secure=bool(morsel["secure"]),
        http_only=bool(morsel["httponly"]),
        same_site=_same_site(str(morsel["samesite"])),
    )


def _expires(text: str) -> datetime | None:
    return datetime.strptime(text, _EXPIRES).replace(tzinfo=UTC) if text else None


def _max_age(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise TypeError(f"Cannot parse value {text} of 'cookie.maxAge' to float.") from None


def _same_site(text: str) -> SameSite:
    try:
        return SameSite(text.lower())
    except ValueError:
        return SameSite.UNSET
