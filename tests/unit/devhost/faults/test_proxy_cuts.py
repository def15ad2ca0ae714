"""The connection breaker where it ends connections: at once, after so many bytes, in place of an answer."""

import threading
from contextlib import suppress

import pytest

from devhost.faults.proxy import Proxy
from devhost.faults.state import Direction, Ending, Fault
from tests.unit.devhost.faults.connections import DOWN, PATIENCE, UP, Pair, Target, ends, is_silent, read


@pytest.mark.parametrize("ending", list(Ending))
def test_cut_ends_both_sides_as_asked_and_new_connections_are_served(
    proxy: Proxy, pair: Pair, target: Target, ending: Ending
) -> None:
    assert pair.carries(UP)
    proxy.cut(ending=ending)
    assert (ends(pair.client), ends(pair.server)) == (ending, ending)
    assert Pair(proxy, target).carries(UP)


@pytest.mark.parametrize("direction", list(Direction))
def test_a_reset_of_one_direction_is_seen_by_its_receiver_alone(
    proxy: Proxy, pair: Pair, direction: Direction
) -> None:
    proxy.cut(direction)
    assert ends(pair.end(direction)) == "reset"
    assert is_silent(pair.start(direction))
    pair.start(direction).sendall(b"to nobody")
    proxy.cut()
    assert ends(pair.start(direction)) == "reset"


@pytest.mark.parametrize("direction", list(Direction))
def test_a_fin_in_one_direction_lets_the_other_flow_on(
    proxy: Proxy, pair: Pair, direction: Direction
) -> None:
    proxy.cut(direction, Ending.FIN)
    assert ends(pair.end(direction)) == "fin"
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
    reader = threading.Thread(target=lambda: received.append(read(pair.end(direction), count)))
    reader.start()  # a reset would take what is not read yet
    for start in range(0, count, 1000):
        pair.start(direction).sendall(bytes(min(1000, count - start)))
    reader.join(PATIENCE)
    assert received == [bytes(count)]
    assert proxy.cuts == 0
    with suppress(OSError):
        pair.start(direction).sendall(bytes(1000))
    assert ends(pair.end(direction)) == ending
    assert ends(pair.start(direction)) == ending
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
    assert ends(pair.client) == "reset"
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
    assert ends(pair.client) == "reset"
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
