"""Real connections through a proxy, both of whose ends the test holds in its hands."""

import socket

from devhost.faults.proxy import Proxy
from devhost.faults.state import Direction
from devhost.ports import LOOPBACK

UP, DOWN = Direction.UP, Direction.DOWN
PATIENCE = 30.0
"""Seconds for what happens at once, on however busy a machine."""


class Target:
    """A server whose connections the test holds in its hands."""

    def __init__(self) -> None:
        self._listener = socket.create_server((LOOPBACK, 0))
        self._listener.settimeout(PATIENCE)
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []

    def accept(self) -> socket.socket:
        accepted, _ = self._listener.accept()
        accepted.settimeout(PATIENCE)
        self.close_later(accepted)
        return accepted

    def close_later(self, connection: socket.socket) -> None:
        self._open.append(connection)

    def close(self) -> None:
        for each in (self._listener, *self._open):
            each.close()


class Pair:
    """A client and, through the proxy, the target's end of its connection."""

    def __init__(self, proxy: Proxy, target: Target) -> None:
        self.client = socket.create_connection((LOOPBACK, proxy.port), timeout=PATIENCE)
        target.close_later(self.client)
        self.server = target.accept()
        assert self.carries(UP)  # the proxy has both sides by now

    def end(self, direction: Direction) -> socket.socket:
        """Where that stream arrives."""
        return self.server if direction is UP else self.client

    def start(self, direction: Direction) -> socket.socket:
        """Where that stream is written."""
        return self.end(direction.other)

    def carries(self, direction: Direction, data: bytes = b"hello") -> bool:
        self.start(direction).sendall(data)
        return read(self.end(direction), len(data)) == data


def read(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (piece := source.recv(count - len(data))):
        data += piece
    return data


def ends(source: socket.socket) -> str:
    """How the stream ends, after whatever still comes: "fin" or "reset"; ``TimeoutError`` if it does not."""
    source.settimeout(PATIENCE)
    try:
        while source.recv(1000):
            pass
    except ConnectionResetError:
        return "reset"
    return "fin"


def is_silent(source: socket.socket) -> bool:
    """Whether nothing comes, no end either, for a moment."""
    source.settimeout(0.2)
    try:
        source.recv(1)
    except TimeoutError:
        source.settimeout(PATIENCE)
        return True
    return False
