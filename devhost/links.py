"""The proxies of a local stack: one before each port that a part is reached at."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from devhost.azurite import emulator
from devhost.azurite.emulator import StoragePorts
from devhost.faults.proxy import Proxy
from devhost.ports import LOOPBACK


class LinkError(ValueError):
    """An address that no proxy can stand before."""


class Links:
    """Makes proxies and the addresses that lead through them.

    Names: `blob`, `table`, `queue` (host to storage), `broker` (host to broker), `host` (clients to host),
    and the setting's own name for each address outside.
    """

    def __init__(self) -> None:
        """There is none yet."""
        self.proxies: dict[str, Proxy] = {}

    def storage(self, ports: StoragePorts) -> str:
        """A storage connection string through proxies."""
        return emulator.connection_string(
            blob=self._port("blob", ports.blob),
            table=self._port("table", ports.table),
            queue=self._port("queue", ports.queue),
        )

    def servicebus(self, connection_string: str, port: int) -> str:
        """The broker's connection string through a proxy."""
        return connection_string.replace(f":{port};", f":{self._port('broker', port)};")

    def host(self, url: str) -> str:
        """The host's address through a proxy."""
        return self._through("host", url)

    def outside(self, addresses: Mapping[str, str]) -> dict[str, str]:
        """Each address through a proxy named like its setting."""
        return {name: self._through(name, address) for name, address in addresses.items()}

    def close(self) -> None:
        """End all proxies."""
        for proxy in self.proxies.values():
            proxy.close()
        self.proxies.clear()

    def _through(self, name: str, address: str) -> str:
        parts = urlsplit(address)
        if parts.scheme != "http" or parts.hostname is None:
            raise LinkError(
                f"{name}: {address!r} cannot be reached through a proxy; expected http://HOST:PORT/..."
                " (behind TLS the proxy's address would not match the certificate)."
            )
        port = self._port(name, parts.port or 80, parts.hostname)
        return parts._replace(netloc=f"{LOOPBACK}:{port}").geturl()

    def _port(self, name: str, target: int, host: str = LOOPBACK) -> int:
        self.proxies[name] = Proxy(target, target_host=host)
        return self.proxies[name].port
