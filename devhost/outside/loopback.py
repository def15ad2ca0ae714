"""Which addresses the outside may send to: those of this machine."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether this is an http address on loopback, by number or as `localhost`."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.scheme != "http" or port == 0:
        return False
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
