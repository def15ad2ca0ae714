"""The connection breaker, between real sockets: what each fault does, and that it can be undone."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from devhost.faults.proxy import Proxy
from devhost.faults.state import Direction, Ending, Fault
from devhost.ports import LOOPBACK
from tests.support.waiting import eventually

UP, DOWN = Direction.UP, Direction.DOWN


class Target:
    """A server whose connections the test holds in its hands."""

    def __init__(self) -> None:
        self._listener = socket.create_server((LOOPBACK, 0))
        self._listener.settimeout(5)
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []

    def accept(self) -> socket.socket:
        accepted, _ = self._listener.accept()
        accepted.settimeout(5)
        self.close_later(accepted)
        return accepted

    def close_later(self, connection: socket.socket) -> None:
        self._open.append(connection)

    def close(self) -> None:
        for each in (self._listener, *self._open):
            each.close()


@pytest.fixture
def target() -> Iterator[Target]:
    made = Target()
    yield made
    made.close()


@pytest.fixture
def proxy(target: Target) -> Iterator[Proxy]:
    with Proxy(target.port) as made:
        yield made


class Pair:
    """A client and, through the proxy, the target's end of its connection."""

    def __init__(self, proxy: Proxy, target: Target) -> None:
        self.client = socket.create_connection((LOOPBACK, proxy.port), timeout=5)
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
        return _read(self.end(direction), len(data)) == data


@pytest.fixture
def pair(proxy: Proxy, target: Target) -> Pair:
    return Pair(proxy, target)


def _read(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (piece := source.recv(count - len(data))):
        data += piece
    return data


def _ends(source: socket.socket) -> str:
    """How the stream ends, after whatever still comes: "fin", "reset", or "open" if it does not."""
    source.settimeout(0.3)
    try:
        while source.recv(1000):
            pass
    except ConnectionResetError:
        return "reset"
    except TimeoutError:
        return "open"
    return "fin"


def _send_until_full(source: socket.socket) -> int:
    """How many bytes went before the window was full; at most 50 MB are tried."""
    sent = 0
    with suppress(TimeoutError):
        while sent < 50_000_000:
            sent += source.send(bytes(10_000))
    return sent


def _is_silent(source: socket.socket) -> bool:
    source.settimeout(0.2)
    try:
        source.recv(1)
    except TimeoutError:
        source.settimeout(5)
        return True
    return False


def test_much_data_passes_unchanged_in_both_directions_at_once(pair: Pair) -> None:
    data = bytes(range(256)) * 20_000
    writers = [threading.Thread(target=pair.start(each).sendall, args=(data,)) for each in Direction]
    for writer in writers:
        writer.start()
    received = [b"", b""]

    def read(number: int, direction: Direction) -> None:
        received[number] = _read(pair.end(direction), len(data))

    readers = [threading.Thread(target=read, args=(n, each)) for n, each in enumerate(Direction)]
    for thread in readers:
        thread.start()
    for thread in (*writers, *readers):
        thread.join(30)
    assert received == [data, data]


@pytest.mark.parametrize("direction", list(Direction))
def test_an_end_in_order_passes_and_the_other_direction_flows_on(pair: Pair, direction: Direction) -> None:
    pair.start(direction).shutdown(socket.SHUT_WR)
    assert _ends(pair.end(direction)) == "fin"
    assert pair.carries(direction.other)


@pytest.mark.parametrize("direction", list(Direction))
def test_a_reset_by_one_side_is_a_reset_to_the_other(pair: Pair, direction: Direction) -> None:
    dying = pair.start(direction)
    dying.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    dying.close()
    assert _ends(pair.end(direction)) == "reset"


def test_both_ends_closed_leaves_no_connection_in_the_proxy(proxy: Proxy, pair: Pair) -> None:
    assert pair.carries(UP)
    pair.client.close()
    pair.server.close()
    eventually(lambda: proxy.connections == 0, "the connection is forgotten")


@pytest.mark.parametrize("direction", list(Direction))
def test_delay_holds_one_direction_back_and_the_other_not(
    proxy: Proxy, pair: Pair, direction: Direction
) -> None:
    proxy.delay(0.3, direction)
    begun = time.monotonic()
    assert pair.carries(direction.other)
    assert time.monotonic() - begun < 0.3
    begun = time.monotonic()
    assert pair.carries(direction)
    assert time.monotonic() - begun >= 0.3


def test_delays_do_not_add_up_for_data_sent_while_other_data_is_on_its_way(proxy: Proxy, pair: Pair) -> None:
    proxy.delay(0.5, UP)
    begun = time.monotonic()
    for number in range(10):
        pair.client.sendall(bytes([number]) * 5)
        time.sleep(0.02)
    assert _read(pair.server, 50) == b"".join(bytes([number]) * 5 for number in range(10))
    assert 0.5 <= time.monotonic() - begun < 2.0


def test_what_is_delayed_comes_at_once_when_healed(proxy: Proxy, pair: Pair) -> None:
    proxy.delay(60)
    pair.client.sendall(b"late")
    assert _is_silent(pair.server)
    proxy.heal(Fault.DELAY)
    assert _read(pair.server, 4) == b"late"


@pytest.mark.parametrize("direction", list(Direction))
def test_throttle_bounds_the_bytes_a_second_until_healed(
    proxy: Proxy, pair: Pair, direction: Direction
) -> None:
    proxy.throttle(20_000, direction)
    begun = time.monotonic()
    pair.start(direction).sendall(bytes(60_000))
    assert len(_read(pair.end(direction), 10_000)) == 10_000
    assert time.monotonic() - begun >= 0.4
    proxy.heal(Fault.THROTTLE)
    begun = time.monotonic()
    assert len(_read(pair.end(direction), 50_000)) == 50_000
    assert time.monotonic() - begun < 2.0


@pytest.mark.parametrize("direction", list(Direction))
def test_a_stalled_stream_fills_its_sender_s_window_and_loses_nothing(
    proxy: Proxy, pair: Pair, direction: Direction
) -> None:
    proxy.stall(direction)
    source = pair.start(direction)
    source.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
    source.settimeout(0.5)
    sent = _send_until_full(source)
    assert sent < 5_000_000
    assert _is_silent(pair.end(direction))
    assert pair.carries(direction.other)
    proxy.heal(Fault.STALL)
    assert len(_read(pair.end(direction), sent)) == sent


def test_a_black_hole_takes_data_and_answers_nothing_and_hides_ends(proxy: Proxy, pair: Pair) -> None:
    proxy.black_hole()
    pair.client.sendall(bytes(3_000_000))
    assert _is_silent(pair.server)
    pair.client.shutdown(socket.SHUT_WR)
    assert _is_silent(pair.server)
    proxy.heal()
    assert (_ends(pair.server), _ends(pair.client)) == ("reset", "reset")


def test_a_black_hole_on_the_way_back_lets_requests_through(proxy: Proxy, pair: Pair) -> None:
    proxy.black_hole(DOWN)
    assert pair.carries(UP, b"do it")
    pair.server.sendall(b"done")
    assert _is_silent(pair.client)


def test_connections_that_lost_nothing_in_a_black_hole_survive_it(proxy: Proxy, pair: Pair) -> None:
    proxy.black_hole()
    proxy.heal(Fault.BLACK_HOLE)
    assert pair.carries(UP)
    assert pair.carries(DOWN)


@pytest.mark.parametrize("ending", list(Ending))
def test_cut_ends_both_sides_as_asked_and_new_connections_are_served(
    proxy: Proxy, pair: Pair, target: Target, ending: Ending
) -> None:
    assert pair.carries(UP)
    proxy.cut(ending=ending)
    assert (_ends(pair.client), _ends(pair.server)) == (ending, ending)
    assert Pair(proxy, target).carries(UP)


@pytest.mark.parametrize("direction", list(Direction))
def test_a_reset_of_one_direction_is_seen_by_its_receiver_alone(
    proxy: Proxy, pair: Pair, direction: Direction
) -> None:
    proxy.cut(direction)
    assert _ends(pair.end(direction)) == "reset"
    assert _ends(pair.start(direction)) == "open"
    pair.start(direction).sendall(b"to nobody")
    proxy.cut()
    assert _ends(pair.start(direction)) == "reset"


@pytest.mark.parametrize("direction", list(Direction))
def test_a_fin_in_one_direction_lets_the_other_flow_on(
    proxy: Proxy, pair: Pair, direction: Direction
) -> None:
    proxy.cut(direction, Ending.FIN)
    assert _ends(pair.end(direction)) == "fin"
    assert pair.carries(direction.other)


@pytest.mark.parametrize("ending", list(Ending))
@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("count", [0, 1, 4096, 200_000])
def test_cut_after_lets_exactly_so_many_bytes_through(
    proxy: Proxy, pair: Pair, target: Target, direction: Direction, ending: Ending, count: int
) -> None:
    assert pair.carries(direction.other)
    proxy.cut_after(direction, count, ending)
    before = proxy.passed(direction)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(_read(pair.end(direction), count)))
    reader.start()  # a reset would take what is not read yet
    for start in range(0, count, 1000):
        pair.start(direction).sendall(bytes(min(1000, count - start)))
    reader.join(10)
    assert received == [bytes(count)]
    assert proxy.cuts == 0
    with suppress(OSError):
        pair.start(direction).sendall(bytes(1000))
    assert _ends(pair.end(direction)) == ending
    assert _ends(pair.start(direction)) == ending
    assert (proxy.passed(direction) - before, proxy.cuts) == (count, 1)
    assert Pair(proxy, target).carries(direction)  # it cuts once


def test_cut_after_counts_over_all_connections_and_ends_the_one_that_goes_beyond(
    proxy: Proxy, pair: Pair, target: Target
) -> None:
    second = Pair(proxy, target)
    proxy.cut_after(UP, 8)
    assert pair.carries(UP, b"four")
    assert second.carries(UP, b"four")
    pair.client.sendall(b"!")
    assert _ends(pair.client) == "reset"
    assert second.carries(UP)


def test_cut_after_can_be_taken_back(proxy: Proxy, pair: Pair) -> None:
    proxy.cut_after(UP, 2)
    proxy.heal(Fault.CUT_AFTER)
    assert pair.carries(UP, b"more than two")


def test_an_answer_is_lost_after_those_that_pass_and_what_was_asked_for_arrived(
    proxy: Proxy, pair: Pair, target: Target
) -> None:
    proxy.lose_answers(1, skip=1)
    assert pair.carries(UP, b"ask")
    assert pair.carries(DOWN, b"the first passes")
    assert pair.carries(UP, b"ask")
    pair.server.sendall(b"the second is lost")
    assert _ends(pair.client) == "reset"
    assert (proxy.cuts, proxy.answers_left_to_lose) == (1, 0)
    again = Pair(proxy, target)
    assert again.carries(UP)
    assert again.carries(DOWN)


def test_an_answer_in_many_pieces_counts_as_one(proxy: Proxy, pair: Pair) -> None:
    proxy.lose_answers(1, skip=1)
    assert pair.carries(UP, b"ask")
    for _ in range(5):
        assert pair.carries(DOWN, b"piece")
    assert proxy.answers_left_to_lose == 1
    proxy.heal(Fault.LOSE_ANSWERS)
    assert proxy.answers_left_to_lose == 0


def test_refuse_is_a_refusal_by_the_system_until_healed_on_the_same_port(
    proxy: Proxy, pair: Pair, target: Target
) -> None:
    port = proxy.port
    proxy.refuse()
    assert _ends(pair.client) == "reset"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, port), timeout=5)
    proxy.refuse()
    proxy.heal(Fault.REFUSE)
    assert proxy.port == port
    assert Pair(proxy, target).carries(UP)


def test_refuse_can_keep_the_connections_there_are(proxy: Proxy, pair: Pair) -> None:
    proxy.refuse(keep_open=True)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, proxy.port), timeout=5)
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
    with Proxy(dead) as proxy, socket.create_connection((LOOPBACK, proxy.port), timeout=5) as connection:
        assert _ends(connection) in ("fin", "reset")


def test_a_port_that_is_taken_is_an_error_and_leaves_no_thread(target: Target) -> None:
    threads = threading.active_count()
    with pytest.raises(OSError, match="in use"):
        Proxy(target.port, target.port)
    assert threading.active_count() == threads


def test_a_closed_proxy_resets_its_connections_and_can_be_closed_twice(proxy: Proxy, pair: Pair) -> None:
    assert pair.carries(UP)
    proxy.close()
    proxy.close()
    assert (_ends(pair.client), _ends(pair.server)) == ("reset", "reset")
