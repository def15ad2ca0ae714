"""HTTP without a client library, for tests of whole processes."""

import http.client
from collections.abc import Mapping
from urllib.parse import urlsplit


def request(
    method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"", timeout: float = 90
) -> tuple[int, bytes]:
    """Status and body of the answer."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.netloc, timeout=timeout)
    try:
        connection.request(method, address.path, body, dict(headers or {}))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
