"""The connection breaker, between real sockets: what passes without a fault, refusals, and its own end."""

import socket
import threading

import pytest

from devhost.faults.proxy import Proxy
from devhost.faults.state import Direction, Fault
from devhost.ports import LOOPBACK
from tests.support.waiting import eventually
from tests.unit.devhost.faults.connections import DOWN, PATIENCE, UP, Pair, Target, ends, read


def test_much_data_passes_unchanged_in_both_directions_at_once(pair: Pair) -> None:
    data = bytes(range(256)) * 20_000
    writers = [threading.Thread(target=pair.start(each).sendall, args=(data,)) for each in Direction]
    for writer in writers:
        writer.start()
    received = [b"", b""]

    def receive(number: int, direction: Direction) -> None:
        received[number] = read(pair.end(direction), len(data))

    readers = [threading.Thread(target=receive, args=(n, each)) for n, each in enumerate(Direction)]
    for thread in readers:
        thread.start()
    for thread in (*writers, *readers):
        thread.join(PATIENCE)
    assert received == [data, data]


@pytest.mark.parametrize("direction", list(Direction))
def test_an_end_in_order_passes_and_the_other_direction_flows_on(pair: Pair, direction: Direction) -> None:
    pair.start(direction).shutdown(socket.SHUT_WR)
    assert ends(pair.end(direction)) == "fin"
    assert pair.carries(direction.other)


@pytest.mark.parametrize("direction", list(Direction))
def test_a_reset_by_one_side_is_a_reset_to_the_other(pair: Pair, direction: Direction) -> None:
    dying = pair.start(direction)
    dying.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    dying.close()
    assert ends(pair.end(direction)) == "reset"


def test_both_ends_closed_leaves_no_connection_in_the_proxy(proxy: Proxy, pair: Pair) -> None:
    assert pair.carries(UP)
    pair.client.close()
    pair.server.close()
    eventually(lambda: proxy.connections == 0, "the connection is forgotten")


def test_refuse_is_a_refusal_by_the_system_until_healed_on_the_same_port(
    proxy: Proxy, pair: Pair, target: Target
) -> None:
    port = proxy.port
    proxy.refuse()
    assert ends(pair.client) == "reset"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, port), timeout=PATIENCE)
    proxy.refuse()
    proxy.heal(Fault.REFUSE)
    assert proxy.port == port
    assert Pair(proxy, target).carries(UP)


def test_refuse_can_keep_the_connections_there_are(proxy: Proxy, pair: Pair) -> None:
    proxy.refuse(keep_open=True)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, proxy.port), timeout=PATIENCE)
    assert pair.carries(UP)


def test_all_faults_at_once_are_undone_by_one_heal(proxy: Proxy, pair: Pair, target: Target) -> None:
    proxy.delay(60)
    proxy.throttle(1)
    proxy.stall(DOWN)
    proxy.black_hole(DOWN)
    proxy.cut_after(UP, 1)
    proxy.lose_answers(5)
    proxy.refuse(keep_open=True)
    proxy.heal()
    assert Pair(proxy, target).carries(DOWN, bytes(10_000))
    assert pair.carries(UP, bytes(10_000))


def test_a_dead_target_ends_the_connection() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        dead = server.getsockname()[1]
    with Proxy(dead) as proxy, socket.create_connection((LOOPBACK, proxy.port)) as connection:
        assert ends(connection) in ("fin", "reset")


def test_a_port_that_is_taken_is_an_error_and_leaves_no_thread(target: Target) -> None:
    threads = threading.active_count()
    with pytest.raises(OSError, match="in use"):
        Proxy(target.port, target.port)
    assert threading.active_count() == threads


def test_a_closed_proxy_resets_its_connections_and_can_be_closed_twice(proxy: Proxy, pair: Pair) -> None:
    assert pair.carries(UP)
    proxy.close()
    proxy.close()
    assert (ends(pair.client), ends(pair.server)) == ("reset", "reset")
