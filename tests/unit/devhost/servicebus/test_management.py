"""Requests to `$management` and `$cbs`, answered on a real engine."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.amqp.encoder import encode
from devhost.amqp.message import Section, build, split
from devhost.amqp.types import Array, Described, Int, Long, Symbol, Timestamp, UInt, ULong
from devhost.servicebus.cbs import Cbs
from devhost.servicebus.engine import Engine
from devhost.servicebus.management import SHORTEST_SECONDS, Management
from devhost.servicebus.model import Defer, Incoming, QueuePolicy, QueueRef
from devhost.servicebus.sas import Grant, SharedKey
from tests.unit.devhost.amqp.values import simple

QUEUE = QueueRef("q")
LATER = Timestamp(4_000_000_000_000)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    engine = Engine([QueuePolicy("q")], tmp_path)
    await engine.start()
    yield engine
    await engine.stop()


async def ask(engine: Engine, operation: object, body: object) -> tuple[dict[object, object], Any]:
    request = build(
        properties=[uuid.UUID(int=1)],
        application_properties={"operation": operation} if operation is not None else None,
        value=body,
    )
    reply = split(await Management(engine, QUEUE).answer(split(request)))
    assert reply.field(Section.PROPERTIES, 5) == uuid.UUID(int=1)
    return reply.map(Section.APPLICATION_PROPERTIES), reply.value()


def scheduled(text: str) -> dict[object, object]:
    annotations = {Symbol("x-opt-scheduled-enqueue-time"): LATER}
    return {"message-id": text, "message": encode(Described(ULong(0x72), annotations)) + build(value=text)}


async def test_peeking_an_empty_queue_has_no_content(engine: Engine) -> None:
    told, body = await ask(
        engine, "com.microsoft:peek-message", {"from-sequence-number": Long(0), "message-count": Int(5)}
    )
    assert (told["statusCode"], body["messages"]) == (204, [])


async def test_peeking_no_messages_has_no_content(engine: Engine) -> None:
    await engine.enqueue(QUEUE, [Incoming(build(value="x"))])
    told, _ = await ask(
        engine, "com.microsoft:peek-message", {"from-sequence-number": Long(0), "message-count": Int(0)}
    )
    assert told["statusCode"] == 204


async def test_no_answer_comes_before_a_thread_of_the_sdk_can_have_registered_its_request(
    engine: Engine,
) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await ask(
        engine, "com.microsoft:peek-message", {"from-sequence-number": Long(0), "message-count": Int(1)}
    )
    await ask(engine, "com.microsoft:unknown", {})
    assert loop.time() - begun >= 2 * SHORTEST_SECONDS * 0.9  # a timer may be a tick early


async def test_scheduling_answers_with_the_numbers_that_cancel(engine: Engine) -> None:
    told, body = await ask(
        engine, "com.microsoft:schedule-message", {"messages": [scheduled("a"), scheduled("b")]}
    )
    assert told["statusCode"] == 200
    numbers = body["sequence-numbers"]
    assert (numbers.kind, len(numbers.items)) == (Long, 2)
    told, _ = await ask(engine, "com.microsoft:cancel-scheduled-message", {"sequence-numbers": numbers})
    assert told["statusCode"] == 200
    assert (await engine.counts(QUEUE)).scheduled == 0
    told, _ = await ask(engine, "com.microsoft:cancel-scheduled-message", {"sequence-numbers": numbers})
    assert (told["statusCode"], told["errorCondition"]) == (404, "com.microsoft:message-not-found")


async def test_a_renewed_lock_is_answered_with_its_new_end(engine: Engine) -> None:
    await engine.enqueue(QUEUE, [Incoming(build(value="x"))])
    (locked,) = await engine.receive(QUEUE, 1)
    told, body = await ask(
        engine, "com.microsoft:renew-lock", {"lock-tokens": Array(uuid.UUID, (locked.token,))}
    )
    assert told["statusCode"] == 200
    assert body["expirations"].kind is Timestamp
    assert body["expirations"].items[0] >= int(locked.locked_until * 1000)


async def test_a_lost_lock_is_gone(engine: Engine) -> None:
    for operation, more in (
        ("com.microsoft:renew-lock", {}),
        ("com.microsoft:update-disposition", {"disposition-status": "completed"}),
    ):
        tokens = Array(uuid.UUID, (uuid.UUID(int=3),))
        told, _ = await ask(engine, operation, {"lock-tokens": tokens, **more})
        assert (told["statusCode"], told["errorCondition"]) == (410, "com.microsoft:message-lock-lost")


async def test_deferred_messages_come_locked_or_deleted_as_asked(engine: Engine) -> None:
    await engine.enqueue(QUEUE, [Incoming(build(value="a")), Incoming(build(value="b"))])
    for locked in await engine.receive(QUEUE, 2):
        await engine.settle(QUEUE, locked.token, Defer())
    operation = "com.microsoft:receive-by-sequence-number"
    one = {"sequence-numbers": Array(Long, (Long(1),)), "receiver-settle-mode": UInt(1)}
    _, body = await ask(engine, operation, one)
    (entry,) = body["messages"]
    assert isinstance(entry["lock-token"], uuid.UUID)
    assert split(entry["message"]).map(Section.MESSAGE_ANNOTATIONS)["x-opt-message-state"] == 1
    two = {"sequence-numbers": Array(Long, (Long(2),)), "receiver-settle-mode": UInt(0)}
    _, body = await ask(engine, operation, two)
    assert "lock-token" not in body["messages"][0]
    told, _ = await ask(engine, operation, two)
    assert told["statusCode"] == 404


@pytest.mark.parametrize(
    ("operation", "body", "status"),
    [
        (None, {}, 501),
        (Int(5), {}, 501),
        ("com.microsoft:renew-session-lock", {"session-id": "s"}, 501),
        ("com.microsoft:renew-lock", "no map", 400),
        ("com.microsoft:renew-lock", {}, 400),
        ("com.microsoft:renew-lock", {"lock-tokens": []}, 400),
        ("com.microsoft:renew-lock", {"lock-tokens": ["text"]}, 400),
        ("com.microsoft:renew-lock", {"lock-tokens": [uuid.UUID(int=1)] * 2001}, 400),
        ("com.microsoft:peek-message", {"from-sequence-number": "1", "message-count": Int(1)}, 400),
        ("com.microsoft:peek-message", {"from-sequence-number": True, "message-count": Int(1)}, 400),
        ("com.microsoft:schedule-message", {"messages": ["text"]}, 400),
        ("com.microsoft:schedule-message", {"messages": [{"message": b"\x00"}]}, 400),
        ("com.microsoft:schedule-message", {"messages": [{"message": build(value="never due")}]}, 400),
        ("com.microsoft:schedule-message", {"messages": [{"message": b"x" * 262_145}]}, 413),
        ("com.microsoft:cancel-scheduled-message", {"sequence-numbers": ["1"]}, 400),
        ("com.microsoft:cancel-scheduled-message", {"sequence-numbers": [ULong(1 << 63)]}, 400),
        (
            "com.microsoft:peek-message",
            {"from-sequence-number": ULong(1 << 63), "message-count": Int(1)},
            400,
        ),
        (
            "com.microsoft:update-disposition",
            {"lock-tokens": [uuid.UUID(int=1)], "disposition-status": "eaten"},
            400,
        ),
    ],
)
async def test_a_bad_request_is_answered_with_what_is_wrong(
    engine: Engine, operation: object, body: object, status: int
) -> None:
    told, _ = await ask(engine, operation, body)
    assert told["statusCode"] == status
    assert told["statusDescription"]
    assert told["errorCondition"]


@given(
    st.sampled_from(["peek-message", "renew-lock", "schedule-message", "update-disposition"]),
    st.dictionaries(
        st.sampled_from(["messages", "lock-tokens", "from-sequence-number", "message-count"]), simple
    ),
)
async def test_any_body_is_answered(operation: str, body: dict[object, object]) -> None:
    request = build(
        properties=["id"], application_properties={"operation": f"com.microsoft:{operation}"}, value=body
    )
    unused: Any = None
    reply = split(await Management(unused, QUEUE).answer(split(request)))
    assert isinstance(reply.map(Section.APPLICATION_PROPERTIES)["statusCode"], Int)


KEY = SharedKey("policy", "key")


@pytest.mark.parametrize(
    ("properties", "body", "status"),
    [
        ({"operation": "put-token", "name": "sb://h/q"}, "SharedAccessSignature sr=x", 401),
        ({"operation": "put-token", "name": "sb://h/q"}, b"bytes", 400),
        ({"operation": "put-token"}, "text", 400),
        ({"operation": "delete-token"}, "text", 501),
        ({}, "text", 501),
    ],
)
async def test_a_token_request_that_fails_is_answered_with_a_hyphenated_status(
    properties: dict[object, object], body: object, status: int
) -> None:
    grants: dict[str, Grant] = {}
    request = split(build(properties=["id"], application_properties=properties, value=body))
    reply = split(await Cbs(KEY, lambda: 0.0, grants).answer(request))
    told = reply.map(Section.APPLICATION_PROPERTIES)
    assert told["status-code"] == status
    assert told["status-description"]
    assert reply.field(Section.PROPERTIES, 5) == "id"
    assert grants == {}
