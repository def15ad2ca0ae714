"""A call through its step."""

import asyncio
import json
from dataclasses import dataclass, field

import pytest

from devhost.outside.faults import Delivery, Holds, perform
from devhost.outside.messages import Answer, Post
from devhost.outside.steps import Fault, JsonStep, parse


@dataclass
class Service:
    """Something with an effect."""

    happened: int = 0
    holds: Holds = field(default_factory=Holds)

    def act(self) -> Answer:
        self.happened += 1
        return Answer.json({"id": "x" * 20}, 201, posts=(Post("http://localhost/", "m", b""),))

    async def take(self, step: JsonStep) -> Delivery:
        return await perform(parse(step), self.act, self.error, self.holds)

    @staticmethod
    def error(status: int, code: str) -> Answer:
        return Answer.json({"code": code}, status)


@pytest.mark.parametrize(
    ("step", "happened", "status", "cut"),
    [
        ("ok", 1, 201, Fault.NONE),
        ({"slow": 0.001}, 1, 201, Fault.NONE),
        ({"slow": 0.001, "after": True}, 1, 201, Fault.NONE),
        ({"slow": 0.001, "status": 503}, 0, 503, Fault.NONE),
        ({"status": 500}, 0, 500, Fault.NONE),
        ({"status": 500, "after": True}, 1, 500, Fault.NONE),
        ("cut_before", 0, 200, Fault.CUT_BEFORE),
        ("cut_during", 1, 201, Fault.CUT_DURING),
        ("cut_after", 1, 201, Fault.CUT_AFTER),
        ({"garbage": "html"}, 1, 200, Fault.NONE),
        ({"garbage": "html", "after": False}, 0, 200, Fault.NONE),
    ],
)
async def test_a_step_says_whether_the_effect_happens_and_what_is_delivered(
    step: JsonStep, happened: int, status: int, cut: Fault
) -> None:
    service = Service()
    delivery = await service.take(step)
    assert (service.happened, delivery.answer.status, delivery.cut) == (happened, status, cut)
    assert len(delivery.answer.posts) == happened, "what the effect causes, it causes under each fault"


async def test_a_status_has_its_code_and_when_to_come_again() -> None:
    delivery = await Service().take({"status": 429, "retry_after": 2.5, "code": "slow_down"})
    assert delivery.answer.headers == {"retry-after": "2.5"}
    assert json.loads(delivery.answer.body) == {"code": "slow_down"}


async def test_a_redirect_has_its_location() -> None:
    delivery = await Service().take({"status": 302, "location": "http://127.0.0.2/elsewhere"})
    assert delivery.answer.headers == {"location": "http://127.0.0.2/elsewhere"}


async def test_another_content_type_can_be_told() -> None:
    service = Service()
    answer = (await service.take({"content_type": "text/plain"})).answer
    assert (answer.content_type, answer.status, service.happened) == ("text/plain", 201, 1)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("empty", b""),
        ("not_json", b"{not json"),
        ("truncated", b'{"id": "xxxxxxx'),
        ("zeros", bytes(30)),
        ("wrong_shape", b'{"unexpected": [true, null]}'),
    ],
)
async def test_garbage_has_the_right_ones_content_type(kind: str, body: bytes) -> None:
    answer = (await Service().take({"garbage": kind})).answer
    assert (answer.status, answer.content_type, answer.body) == (200, "application/json", body)


async def test_huge_garbage_says_how_much_follows() -> None:
    delivery = await Service().take({"garbage": "huge", "size": 10**8})
    assert (delivery.filler, len(delivery.answer.body) < 100) == (10**8, True)


@pytest.mark.parametrize(("after", "happened"), [(False, 0), (True, 1)])
async def test_a_held_call_waits_before_or_after_its_effect(after: bool, happened: int) -> None:
    service = Service()
    taken = asyncio.ensure_future(service.take({"hold": "here", "after": after}))
    await held(service, 1)
    assert service.happened == happened
    assert service.holds.release("elsewhere") == 0
    assert service.holds.release("here") == 1
    assert (await taken).answer.status == 201
    assert (service.happened, service.holds.names()) == (1, {})


async def test_a_held_call_that_is_given_up_is_held_no_more() -> None:
    service = Service()
    taken = [asyncio.ensure_future(service.take({"hold": "here"})) for _ in range(2)]
    await held(service, 2)
    taken[0].cancel()
    await asyncio.wait([taken[0]])
    assert service.holds.names() == {"here": 1}
    service.holds.release_all()
    assert (await taken[1]).answer.status == 201
    assert service.holds.names() == {}


async def held(service: Service, calls: int) -> None:
    """Let the calls come to their hold."""
    for _ in range(10):
        await asyncio.sleep(0)
    assert service.holds.names() == {"here": calls}
