"""What is one event and what is not: repeats, races, replays, and ids that are shared or missing."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.fakes import World
from tests.unit.shared.webhooks.receiving import DELIVERIES, EVERY, OWN_FORM, TIMED, Receiver, code


@pytest.mark.case(89, 95, 97)
@EVERY
async def test_the_same_delivery_again_is_answered_with_200_and_is_the_same_job(source: str) -> None:
    receiver = Receiver()
    await receiver.deliver(source)
    again = await receiver.deliver(source)
    assert again.status == 200
    assert source in OWN_FORM or json.loads(again.body)["duplicate"] is True
    assert len(receiver.world.jobs.all_jobs()) == len(receiver.world.bus.accepted()) == 1


@pytest.mark.case(92)
@EVERY
async def test_twenty_copies_at_once_are_one_job(source: str) -> None:
    receiver = Receiver()
    copies = [receiver.sent(source) for _ in range(20)]
    answers = await asyncio.gather(*(receiver.receive(copy) for copy in copies))
    assert {answer.status for answer in answers} <= {200, 202}
    assert len(receiver.world.jobs.all_jobs()) == len(receiver.world.bus.accepted()) == 1


@pytest.mark.case(91)
@EVERY
async def test_two_instances_of_the_app_take_an_event_once(source: str) -> None:
    world = World()
    await Receiver(world).deliver(source)
    await Receiver(world).deliver(source)
    assert len(world.jobs.all_jobs()) == len(world.bus.accepted()) == 1


@pytest.mark.case(93)
@EVERY
async def test_a_first_send_that_fails_is_503_and_the_second_delivery_is_not_lost(source: str) -> None:
    receiver = Receiver()
    receiver.world.bus.fail_next("send")
    failed = await receiver.deliver(source)
    assert (failed.status, code(failed)) == (503, "queue_unavailable")
    assert failed.headers["Retry-After"]
    assert (await receiver.deliver(source)).status == 200
    assert len(receiver.world.jobs.all_jobs()) == len(receiver.world.bus.accepted()) == 1


@pytest.mark.case(63)
@pytest.mark.parametrize("source", TIMED)
async def test_a_captured_request_is_a_duplicate_inside_the_tolerance_and_stale_after_it(source: str) -> None:
    receiver = Receiver()
    captured = receiver.sent(source)
    await receiver.receive(captured)
    receiver.world.clock.advance(299)
    assert (await receiver.receive(captured)).status == 200
    receiver.world.clock.advance(2)
    assert (await receiver.receive(captured)).status == 401
    assert len(receiver.world.bus.accepted()) == 1


@pytest.mark.case(63, 64)
@pytest.mark.parametrize("source", [name for name in DELIVERIES if name not in (*TIMED, "standard-public")])
async def test_without_a_signed_time_a_replay_is_a_duplicate_a_day_and_a_year_later(source: str) -> None:
    receiver = Receiver()
    captured = receiver.sent(source)
    await receiver.receive(captured)
    for days in (1, 365):
        receiver.world.clock.advance(timedelta(days=days))
        assert (await receiver.receive(captured)).status == 200
    assert len(receiver.world.jobs.all_jobs()) == 1


@pytest.mark.case(90)
@pytest.mark.parametrize("source", TIMED)
async def test_a_retry_that_is_signed_anew_is_a_duplicate(source: str) -> None:
    receiver = Receiver()
    await receiver.deliver(source)
    receiver.world.clock.advance(timedelta(hours=5))
    assert (await receiver.deliver(source)).status == 200
    assert len(receiver.world.jobs.all_jobs()) == 1


@pytest.mark.case(89)
async def test_two_hooks_of_github_with_one_guid_are_two_jobs() -> None:
    receiver = Receiver()
    for hook in ("1", "2", "1"):
        await receiver.deliver("github", delivery="72d3162e-cc78-11e3-81ab-4c9367dc0958", hook_id=hook)
    assert len(receiver.world.jobs.all_jobs()) == 2


@pytest.mark.case(98)
async def test_without_a_delivery_id_the_same_body_is_the_same_job() -> None:
    receiver = Receiver()
    for body in (b'{"action":"opened"}', b'{"action":"opened"}', b'{"action":"closed"}'):
        sent = receiver.sent("github", body)
        headers = {name: value for name, value in sent.headers.items() if name != "x-github-delivery"}
        assert (await receiver.receive(replace(sent, headers=headers))).status in {200, 202}
    assert len(receiver.world.jobs.all_jobs()) == 2


@pytest.mark.case(100)
async def test_two_event_objects_for_one_change_are_two_jobs() -> None:
    receiver = Receiver()
    event = DELIVERIES["stripe"].document
    for event_id in ("evt_a", "evt_b"):
        await receiver.deliver("stripe", json.dumps({**event, "id": event_id}).encode())
    assert len(receiver.world.jobs.all_jobs()) == 2


@pytest.mark.case(101)
async def test_events_out_of_order_are_both_kept_with_their_own_times() -> None:
    receiver = Receiver()
    event = DELIVERIES["stripe"].document
    for event_id, created in (("evt_2", 1785147295), ("evt_1", 1785147200)):
        await receiver.deliver("stripe", json.dumps({**event, "id": event_id, "created": created}).encode())
    times = {job.event_id: job.event_time for job in receiver.world.jobs.all_jobs()}
    assert times == {
        "evt_1": datetime.fromtimestamp(1785147200, UTC),
        "evt_2": datetime.fromtimestamp(1785147295, UTC),
    }


@pytest.mark.case(102)
async def test_a_result_of_a_request_that_nobody_knows_yet_is_stored_and_not_lost() -> None:
    receiver = Receiver()
    answer = await receiver.deliver("fal", b'{"request_id":"not-yet-known","status":"OK","payload":null}')
    assert answer.status == 202
    (job,) = receiver.world.jobs.all_jobs()
    assert job.event_id == "not-yet-known"


@pytest.mark.parametrize(
    ("source", "volatile", "other"),
    [
        ("stripe", "pending_webhooks", "data"),
        ("fal", "gateway_request_id", "payload"),
        ("standard", None, "data"),
    ],
)
async def test_what_changes_from_one_delivery_to_the_next_makes_no_other_body(
    source: str, volatile: str | None, other: str
) -> None:
    """A redelivery is not flagged; what says something else under the same id is, and is not run."""
    receiver = Receiver()
    same = {"message_id": "msg_1"} if source == "standard" else {}
    for value in ("3", "2", "1"):
        document = DELIVERIES[source].document | ({volatile: value} if volatile else {})
        assert (await receiver.deliver(source, json.dumps(document).encode(), **same)).status in {200, 202}
    counted = receiver.world.telemetry.counted
    assert counted("webhooks_duplicate", source=source) == 2
    assert counted("webhooks_same_id_other_body", source=source) == 0
    document = DELIVERIES[source].document | {other: {"amount": 2}}
    await receiver.deliver(source, json.dumps(document).encode(), **same)
    assert counted("webhooks_same_id_other_body", source=source) == 1
    assert len(receiver.world.bus.accepted()) == 1
