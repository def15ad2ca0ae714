"""What is read from messages and written into them."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.amqp.encoder import encode
from devhost.amqp.message import Section, build, split
from devhost.amqp.types import Described, Int, Long, Symbol, Timestamp, UByte, UInt, ULong
from devhost.servicebus.envelope import (
    BATCH_FORMAT,
    MAX_MESSAGE_SIZE,
    read_message,
    read_transfer,
    write_locked,
    write_plain,
)
from devhost.servicebus.faults import FaultError
from devhost.servicebus.model import DeadLetterInfo, Locked, MessageState, Stored

TOKEN = uuid.UUID(int=9)
END_OF_TIME = 253_402_300_799_999


def section(code: Section, content: object) -> bytes:
    return encode(Described(ULong(code), content))


def scheduled_at(milliseconds: int) -> dict[Symbol, Timestamp]:
    return {Symbol("x-opt-scheduled-enqueue-time"): Timestamp(milliseconds)}


def stored(body: bytes, **changes: object) -> Stored:
    message = Stored(
        sequence_number=5,
        enqueue_sequence_number=4,
        message_id=None,
        body=body,
        ttl_ms=None,
        enqueued_at=1_800_000_000.25,
        delivery_count=2,
        state=MessageState.ACTIVE,
        dead_letter=None,
    )
    return replace(message, **changes)  # type: ignore[arg-type]  # fields of Stored, as each test needs


def test_id_ttl_and_schedule_are_read_from_their_sections() -> None:
    body = (
        section(Section.HEADER, [None, None, UInt(60_000)])
        + section(Section.MESSAGE_ANNOTATIONS, scheduled_at(1_800_000_000_500))
        + section(Section.PROPERTIES, [TOKEN])
        + section(Section.DATA, b"x")
    )
    got = read_message(body)
    assert (got.body, got.message_id, got.ttl_ms, got.scheduled_for) == (body, TOKEN, 60_000, 1_800_000_000.5)


@pytest.mark.parametrize("milliseconds", [-(1 << 63), 0, END_OF_TIME])
def test_what_is_scheduled_for_any_year_up_to_9999_can_be_shown(milliseconds: int) -> None:
    read = read_message(
        section(Section.MESSAGE_ANNOTATIONS, scheduled_at(milliseconds)) + section(Section.DATA, b"x")
    )
    assert read.scheduled_for is not None
    shown = split(write_plain(stored(read.body, enqueued_at=read.scheduled_for)))
    assert shown.map(Section.MESSAGE_ANNOTATIONS)["x-opt-enqueued-time"] == milliseconds


@pytest.mark.parametrize("message_id", ["text", TOKEN, b"bytes", ULong(7), None])
def test_every_type_of_message_id_is_kept(message_id: object) -> None:
    assert read_message(build(properties=[message_id, "user"])).message_id == message_id


@pytest.mark.parametrize(
    "body",
    [
        section(Section.PROPERTIES, [True]),
        section(Section.PROPERTIES, [["list"]]),
        section(Section.HEADER, [None, None, "soon"]),
        section(Section.HEADER, [None, None, Int(-1)]),
        section(Section.HEADER, [None, None, ULong(1 << 32)]),
        section(Section.MESSAGE_ANNOTATIONS, {Symbol("x-opt-scheduled-enqueue-time"): "soon"}),
        section(Section.MESSAGE_ANNOTATIONS, scheduled_at(END_OF_TIME + 1)),
        section(Section.MESSAGE_ANNOTATIONS, ["no map"]),
        b"\x00",
    ],
)
def test_a_message_whose_own_fields_are_wrong_is_refused(body: bytes) -> None:
    with pytest.raises(FaultError) as caught:
        read_message(body)
    assert caught.value.condition == "amqp:decode-error"


def test_a_batch_is_read_as_its_messages_and_other_data_as_one() -> None:
    inner = [build(properties=[f"{n}"]) for n in range(3)]
    batch = b"".join(section(Section.DATA, message) for message in inner)
    assert [m.message_id for m in read_transfer(batch, BATCH_FORMAT)] == ["0", "1", "2"]
    assert [m.body for m in read_transfer(batch, 0)] == [batch]


@pytest.mark.parametrize("batch", [b"", section(Section.VALUE, "x"), section(Section.DATA, b"\x01")])
def test_a_batch_that_holds_no_messages_is_refused(batch: bytes) -> None:
    with pytest.raises(FaultError):
        read_transfer(batch, BATCH_FORMAT)


def test_the_limit_is_for_the_whole_transfer() -> None:
    frame = len(section(Section.DATA, b"x" * 300)) - 300
    most = section(Section.DATA, b"x" * (MAX_MESSAGE_SIZE - frame))
    assert len(most) == MAX_MESSAGE_SIZE
    assert len(read_transfer(most, 0)) == 1
    with pytest.raises(FaultError) as caught:
        read_transfer(most + section(Section.DATA, b""), 0)
    assert caught.value.condition == "amqp:link:message-size-exceeded"


def test_a_locked_message_carries_count_numbers_times_and_token() -> None:
    message = split(write_locked(Locked(stored(build(value="x")), TOKEN, 1_800_000_030.0)))
    assert message.field(Section.HEADER, 4) == 2
    assert message.map(Section.MESSAGE_ANNOTATIONS) == {
        "x-opt-sequence-number": Long(5),
        "x-opt-enqueue-sequence-number": Long(4),
        "x-opt-enqueued-time": Timestamp(1_800_000_000_250),
        "x-opt-locked-until": Timestamp(1_800_000_030_000),
    }
    assert message.map(Section.DELIVERY_ANNOTATIONS) == {"x-opt-lock-token": TOKEN}
    assert message.value() == "x"


def test_the_first_delivery_says_zero_outright() -> None:
    message = split(write_plain(stored(build(value="x"), delivery_count=0)))
    assert message.field(Section.HEADER, 4) == 0


@pytest.mark.parametrize("state", [MessageState.DEFERRED, MessageState.SCHEDULED])
def test_a_state_that_is_not_active_is_told(state: MessageState) -> None:
    message = split(write_plain(stored(build(value="x"), state=state)))
    assert message.map(Section.MESSAGE_ANNOTATIONS)["x-opt-message-state"] == state


def test_what_a_dead_letter_died_of_is_added_to_its_own_properties() -> None:
    body = build(application_properties={"mine": True, "DeadLetterReason": "old"}, value="x")
    info = DeadLetterInfo("new", None, "queue")
    message = split(write_plain(stored(body, dead_letter=info)))
    assert message.map(Section.APPLICATION_PROPERTIES) == {"mine": True, "DeadLetterReason": "new"}


def test_marks_of_an_earlier_delivery_do_not_survive_sending_a_message_again() -> None:
    once = write_locked(Locked(stored(build(value="x")), TOKEN, 1_800_000_030.0))
    message = split(write_plain(stored(once, sequence_number=8)))
    annotations = message.map(Section.MESSAGE_ANNOTATIONS)
    assert annotations["x-opt-sequence-number"] == 8
    assert "x-opt-locked-until" not in annotations
    assert message.map(Section.DELIVERY_ANNOTATIONS) == {}


@given(
    st.lists(st.binary(max_size=50), min_size=1, max_size=3),
    st.dictionaries(st.text("abc", min_size=1).map(Symbol), st.integers(0, 255).map(UByte), max_size=3),
)
def test_all_that_is_not_the_broker_s_stays_byte_for_byte(
    data: list[bytes], notes: dict[Symbol, UByte]
) -> None:
    properties = section(Section.PROPERTIES, ["id", b"user"])
    body = b"".join(section(Section.DATA, part) for part in data)
    footer = section(Section.FOOTER, notes)
    sent = section(Section.MESSAGE_ANNOTATIONS, notes) + properties + body + footer
    written = write_plain(stored(sent))
    assert written.endswith(properties + body + footer)
    assert {k: v for k, v in split(written).map(Section.MESSAGE_ANNOTATIONS).items() if k in notes} == notes
