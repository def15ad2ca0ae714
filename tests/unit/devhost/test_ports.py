"""Free ports."""

import random
import socket
from pathlib import Path

import pytest

from devhost.ports import LOOPBACK, RANGE_VARIABLE, NoFreePortError, free_ports, is_free, kept_port


def test_a_port_that_is_listened_on_is_not_free() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        assert not is_free(server.getsockname()[1])


def test_free_ports_are_different_and_below_the_ephemeral_range() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert all(port < 32_768 for port in ports)


def test_ports_are_of_the_range_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(RANGE_VARIABLE, "31000-31400")
    ports = {*free_ports(20), kept_port(tmp_path / "part.port")}
    assert len(ports) >= 20
    assert all(31_000 <= port <= 31_400 for port in ports)


@pytest.mark.parametrize("given", ["20000", "-", "80-90", "21000-20000", "20000-70000", "a-b"])
def test_a_range_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(RANGE_VARIABLE, given)
    with pytest.raises(ValueError, match=f"DEVHOST_PORTS: expected two ports, .* found '{given}'"):
        free_ports(1)


def test_it_is_an_error_when_no_port_can_be_had() -> None:
    class OnePort(random.Random):
        def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
            return taken

    with socket.create_server((LOOPBACK, 0)) as server:
        taken: int = server.getsockname()[1]
        with pytest.raises(NoFreePortError, match="no 1 free"):
            free_ports(1, OnePort())


def test_a_kept_port_is_the_same_at_each_start_while_it_is_free(tmp_path: Path) -> None:
    file = tmp_path / "part.port"
    first = kept_port(file)
    assert kept_port(file) == first
    with socket.create_server((LOOPBACK, first)):
        second = kept_port(file)
        assert second != first
    assert kept_port(file) == second


@pytest.mark.parametrize("content", ["", "no number", "80", "70000", "-1"])
def test_a_file_that_names_no_port_of_ours_is_written_anew(tmp_path: Path, content: str) -> None:
    file = tmp_path / "part.port"
    file.write_text(content)
    port = kept_port(file)
    assert file.read_text() == f"{port}\n"
    assert is_free(port)
