"""Addresses that others gave us (links, callbacks), judged before anything connects to them.

The host must be one that the configuration or a provider's contract names, and speak https. That a public
name may still lead to a private address is the connecting side's to check, with `may_connect`.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar
from urllib.parse import urlsplit

from shared.errors import AfterhookError
from shared.outbound.addresses import is_public, read_address

LONGEST = 8192  # characters: signed links are long
_PLAIN = re.compile(r"[!-\[\]-~]+", re.ASCII)  # printable, without space and backslash
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*", re.ASCII)
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*", re.ASCII)
_PORTS = {"https": 443, "http": 80}


class Refusal(StrEnum):
    """Why nothing may connect there."""

    NOT_AN_ADDRESS = "not_an_address"
    NOT_HTTPS = "not_https"
    HOST_NOT_ALLOWED = "host_not_allowed"
    NOT_PUBLIC = "not_public"


_TEXTS = {
    Refusal.NOT_AN_ADDRESS: "It is not an https address.",
    Refusal.NOT_HTTPS: "It does not begin with https.",
    Refusal.HOST_NOT_ALLOWED: "Its host is not one that is allowed.",
    Refusal.NOT_PUBLIC: "It leads to an address that is not public.",
}


class TargetRefused(AfterhookError):
    """Nothing may connect to this address. The text never shows it: a signed link is a secret."""

    code: ClassVar[str] = "target_refused"

    def __init__(self, reason: Refusal) -> None:
        super().__init__(_TEXTS[reason])
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An address that may be connected to."""

    url: str = field(repr=False)
    scheme: str
    host: str  # lower case, without brackets
    port: int


def check_target(url: str, *, allowed: Collection[str], private: Collection[str]) -> Target:
    """`url`, taken apart. Raises TargetRefused.

    `allowed` are the hosts it may have, `private` those that may have private addresses (the setting
    AFTERHOOK_PRIVATE_HOSTS); for `http`, a loopback host must be named there. See `named_in`.
    """
    target = _taken_apart(url)
    if not named_in(target.host, target.port, allowed):
        raise TargetRefused(Refusal.HOST_NOT_ALLOWED)
    trusted = named_in(target.host, target.port, private, any_port=True)
    if target.scheme != "https" and not (trusted and _is_loopback(target.host)):
        raise TargetRefused(Refusal.NOT_HTTPS)
    if read_address(target.host) is not None and not may_connect(
        target.host, target.port, [target.host], private
    ):
        raise TargetRefused(Refusal.NOT_PUBLIC)
    return target


def named_in(host: str, port: int, entries: Collection[str], *, any_port: bool = False) -> bool:
    """Whether an entry names this host: `host` (at port 443, or any port), `host:port`, `*.host`.

    `*.host` is any name below `host`, not `host` itself. IPv6 addresses stand in brackets before a port.
    """
    return any(_names(entry.lower(), host, port, any_port) for entry in entries)


def may_connect(host: str, port: int, addresses: Collection[str], private: Collection[str]) -> bool:
    """Whether every one of `addresses`, to which `host` was resolved, may be connected to; none may not."""
    if not addresses:
        return False
    if named_in(host.lower(), port, private, any_port=True):
        return True
    found = [read_address(address) for address in addresses]
    return all(address is not None and is_public(address) for address in found)


def _taken_apart(url: str) -> Target:
    """Only what every parser of addresses reads alike."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise TargetRefused(Refusal.NOT_AN_ADDRESS) from None
    scheme, host = parts.scheme, (parts.hostname or "")
    plain = len(url) <= LONGEST and _PLAIN.fullmatch(url) and "@" not in parts.netloc
    if not plain or scheme not in _PORTS or port == 0 or not _is_host(host):
        raise TargetRefused(Refusal.NOT_AN_ADDRESS)
    return Target(url=url, scheme=scheme, host=host, port=_PORTS[scheme] if port is None else port)


def _is_host(host: str) -> bool:
    """A name or an IP address; a name that ends in a number would be read as an address by some."""
    if read_address(host) is not None:
        return "%" not in host
    return bool(_NAME.fullmatch(host)) and not _NUMBER.fullmatch(host.rpartition(".")[2])


def _names(entry: str, host: str, port: int, any_port: bool) -> bool:
    name, given = _entry_parts(entry)
    if given is not None and given != port:
        return False
    if given is None and not any_port and port != _PORTS["https"]:
        return False
    if name.startswith("*."):
        return host.endswith(name[1:]) and len(host) > len(name) - 1
    return host == name


def _entry_parts(entry: str) -> tuple[str, int | None]:
    if read_address(entry) is not None:
        return entry, None
    name, colon, port = entry.rpartition(":")
    if colon and port.isascii() and port.isdigit():
        return name.strip("[]"), int(port)
    return entry.strip("[]"), None


def _is_loopback(host: str) -> bool:
    address = read_address(host)
    return host == "localhost" if address is None else address.is_loopback
