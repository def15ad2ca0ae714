"""Free ports on loopback that stay ours while a part is down.

Linux hands out ephemeral ports from 32768 up (`net.ipv4.ip_local_port_range`). A part that listens up there
can lose its port while it restarts: a client that keeps connecting may be given that very port as its source
and connect to itself. So parts get ports from below that range.
"""

import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path

from devhost.system import SYSTEM

LOOPBACK = "127.0.0.1"
RANGE_VARIABLE = "DEVHOST_PORTS"
"""An environment variable: the range to choose from, as in `20000-21499`.

Stacks side by side, each in a range of its own, take no port from one another while nobody listens there.
"""
_LOWEST, _HIGHEST = 20_000, 32_000
_TRIES = 200


class NoFreePortError(RuntimeError):
    """No port could be bound in many tries."""


def is_free(port: int) -> bool:
    """Whether `port` can be listened on at loopback now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        SYSTEM.before_bind(probe)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def free_ports(count: int, chance: random.Random | None = None) -> list[int]:
    """`count` different ports that were free a moment ago; whoever uses them must still expect a conflict.

    Raises `NoFreePortError`, and `ValueError` for a `DEVHOST_PORTS` that is no range.
    """
    found: list[int] = []
    for port in _candidates(chance or random.SystemRandom()):
        if port not in found and is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    lowest, highest = _range()
    raise NoFreePortError(f"found no {count} free ports between {lowest} and {highest} on {LOOPBACK}")


def kept_port(file: Path) -> int:
    """The port that `file` names, while it is free; otherwise a free one, which it names from now on."""
    try:
        port = int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        port = 0
    lowest, highest = _range()
    if not (lowest <= port <= highest and is_free(port)):
        port = free_ports(1)[0]
        file.write_text(f"{port}\n", encoding="ascii")
    return port


def _candidates(chance: random.Random) -> Iterator[int]:
    lowest, highest = _range()
    return (chance.randrange(lowest, highest + 1) for _ in range(_TRIES))


def _range() -> tuple[int, int]:
    given = os.environ.get(RANGE_VARIABLE)
    if not given:
        return _LOWEST, _HIGHEST
    lowest, _, highest = given.partition("-")
    if not (lowest.isdecimal() and highest.isdecimal() and 1024 <= int(lowest) <= int(highest) <= 65_535):
        raise ValueError(f"{RANGE_VARIABLE}: expected two ports, as in 20000-21499, found {given!r}")
    return int(lowest), int(highest)
