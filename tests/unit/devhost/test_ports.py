"""Free ports."""

import random
import socket

import pytest

from devhost.ports import LOOPBACK, NoFreePortError, free_ports, is_free


def test_a_port_that_is_listened_on_is_not_free() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        assert not is_free(server.getsockname()[1])


def test_free_ports_are_different_and_below_the_ephemeral_range() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert all(port < 32_768 for port in ports)


def test_it_is_an_error_when_no_port_can_be_had() -> None:
    class OnePort(random.Random):
        def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
            return taken

    with socket.create_server((LOOPBACK, 0)) as server:
        taken: int = server.getsockname()[1]
        with pytest.raises(NoFreePortError, match="no 1 free"):
            free_ports(1, OnePort())
