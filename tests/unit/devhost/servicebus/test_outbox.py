"""Transfers cut to the frame size and held back by the window."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from devhost.amqp.framing import Frame, FrameReader
from devhost.amqp.performatives import Transfer, decode_performative
from devhost.servicebus.model import Locked, MessageState, Stored
from devhost.servicebus.outbox import Outbox

STORED = Stored(1, 1, None, b"", None, 0.0, 0, MessageState.ACTIVE, None)


def locked(number: int) -> Locked:
    return Locked(STORED, uuid.UUID(int=number), 0.0)


def outbox(window: int, max_frame_size: int = 512) -> tuple[Outbox, bytearray]:
    written = bytearray()
    return Outbox(written.extend, 3, max_frame_size, window), written


def transfers(written: bytes | bytearray) -> list[tuple[Transfer, bytes]]:
    found = []
    for item in FrameReader(1 << 20).feed(bytes(written)):
        assert isinstance(item, Frame)
        assert item.channel == 3
        performative, payload = decode_performative(item.body)
        assert isinstance(performative, Transfer)
        found.append((performative, payload))
    return found


def first(handle: int = 1, delivery_id: int = 0) -> Transfer:
    return Transfer(
        handle=handle, delivery_id=delivery_id, delivery_tag=b"t" * 16, message_format=0, settled=False
    )


@given(st.binary(max_size=3000), st.integers(512, 1500))
def test_a_payload_is_whole_again_when_its_frames_are_joined(payload: bytes, size: int) -> None:
    box, written = outbox(1000, size)
    box.send(first(delivery_id=7), payload)
    got = transfers(written)
    assert b"".join(part for _, part in got) == payload
    assert [t.more for t, _ in got] == [True] * (len(got) - 1) + [False]
    assert [t.delivery_id for t, _ in got] == [7] + [None] * (len(got) - 1)
    assert all(item.body for item in FrameReader(size).feed(bytes(written)) if isinstance(item, Frame))
    assert box.next_outgoing_id == len(got)


def test_frames_wait_for_the_window_and_keep_their_order() -> None:
    box, written = outbox(1)
    box.send(first(delivery_id=0), b"x" * 600)
    box.send(first(delivery_id=1), b"y")
    assert not box.open
    assert len(transfers(written)) == 1
    box.update(1, 5)
    assert b"".join(part for _, part in transfers(written)) == b"x" * 600 + b"y"
    assert box.open


def test_a_window_said_before_our_begin_was_seen_counts_from_the_start() -> None:
    box, _ = outbox(10)
    box.send(first(), b"x")
    box.update(None, 1)
    assert not box.open


def test_a_window_that_was_overrun_is_closed_not_huge() -> None:
    box, _ = outbox(10)
    for _ in range(5):
        box.send(first(), b"x")
    box.update(1, 2)
    assert not box.open


def test_only_what_was_not_begun_is_given_back_when_a_link_goes() -> None:
    box, written = outbox(1)
    box.send(first(1), b"x" * 600, locked(1))
    box.send(first(1), b"y", locked(2))
    box.send(first(2), b"z", locked(3))
    assert [found.token.int for found in box.discard(1)] == [2]
    box.update(1, 5)
    assert [t.handle for t, _ in transfers(written)] == [1, 2]
