"""The connection breaker on streams that flow: late, slow, not at all, or into nothing."""

import socket
import time
from contextlib import suppress

import pytest

from devhost.faults.proxy import Proxy
from devhost.faults.state import Direction, Fault
from tests.unit.devhost.faults.connections import DOWN, PATIENCE, UP, Pair, ends, is_silent, read


def _send_until_full(source: socket.socket) -> int:
    """How many bytes went before the window was full; at most 50 MB are tried."""
    sent = 0
    with suppress(TimeoutError):
        while sent < 50_000_000:
            sent += source.send(bytes(10_000))
    return sent


@pytest.mark.parametrize("direction", list(Direction))
def test_delay_holds_one_direction_back_and_the_other_not(
    proxy: Proxy, pair: Pair, direction: Direction
) -> None:
    proxy.delay(2 * PATIENCE, direction)
    assert pair.carries(direction.other)
    proxy.delay(0.3, direction)
    begun = time.monotonic()
    assert pair.carries(direction)
    assert time.monotonic() - begun >= 0.3


def test_delays_do_not_add_up_for_data_sent_while_other_data_is_on_its_way(proxy: Proxy, pair: Pair) -> None:
    proxy.delay(0.5, UP)
    assert any(_seconds_from_first_to_last(pair) < 0.4 for _ in range(10))  # a busy machine may take longer


def _seconds_from_first_to_last(pair: Pair) -> float:
    """Send ten pieces within about a fifth of a second; how long they took to come after the first came."""
    pieces = [bytes([number]) * 5 for number in range(10)]
    for piece in pieces:
        pair.client.sendall(piece)
        time.sleep(0.02)
    assert read(pair.server, 5) == pieces[0]
    begun = time.monotonic()
    assert read(pair.server, 45) == b"".join(pieces[1:])
    return time.monotonic() - begun


def test_what_is_delayed_comes_at_once_when_healed(proxy: Proxy, pair: Pair) -> None:
    proxy.delay(60)
    pair.client.sendall(b"late")
    assert is_silent(pair.server)
    proxy.heal(Fault.DELAY)
    assert read(pair.server, 4) == b"late"


@pytest.mark.parametrize("direction", list(Direction))
def test_throttle_bounds_the_bytes_a_second_until_healed(
    proxy: Proxy, pair: Pair, direction: Direction
) -> None:
    proxy.throttle(1_000, direction)
    begun = time.monotonic()
    pair.start(direction).sendall(bytes(60_000))
    assert len(read(pair.end(direction), 500)) == 500
    assert time.monotonic() - begun >= 0.4
    proxy.heal(Fault.THROTTLE)
    begun = time.monotonic()
    assert len(read(pair.end(direction), 59_500)) == 59_500
    assert time.monotonic() - begun < 30  # at that rate it would have taken a minute


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
    assert is_silent(pair.end(direction))
    assert pair.carries(direction.other)
    proxy.heal(Fault.STALL)
    assert len(read(pair.end(direction), sent)) == sent


def test_a_black_hole_takes_data_and_answers_nothing_and_hides_ends(proxy: Proxy, pair: Pair) -> None:
    proxy.black_hole()
    pair.client.sendall(bytes(3_000_000))
    assert is_silent(pair.server)
    pair.client.shutdown(socket.SHUT_WR)
    assert is_silent(pair.server)
    proxy.heal()
    assert (ends(pair.server), ends(pair.client)) == ("reset", "reset")


def test_a_black_hole_on_the_way_back_lets_requests_through(proxy: Proxy, pair: Pair) -> None:
    proxy.black_hole(DOWN)
    assert pair.carries(UP, b"do it")
    pair.server.sendall(b"done")
    assert is_silent(pair.client)


def test_connections_that_lost_nothing_in_a_black_hole_survive_it(proxy: Proxy, pair: Pair) -> None:
    proxy.black_hole()
    proxy.heal(Fault.BLACK_HOLE)
    assert pair.carries(UP)
    assert pair.carries(DOWN)
