"""Event Grid's batches over the intake: taken whole, each event told apart, one answer."""

import json
from dataclasses import replace

import pytest

from devhost.senders import event_grid
from shared.errors import QueueUnavailable, StorageUnavailable
from shared.intake import Accepted, Ignored
from shared.webhooks.base import Reply
from shared.webhooks.event_grid import EventGrid
from shared.webhooks.rejections import MalformedBody
from tests.support.fakes import World
from tests.unit.shared.batch_intake import build, grid_events, grid_request, over_http, route


@pytest.mark.parametrize("count", [1, 5000])
async def test_a_batch_of_event_grid_is_taken_whole(
    world: World, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EventGrid, "answer_within", 120.0)  # whatever else this machine is doing
    receipts = await build(world).receive("grid", grid_request(grid_events(count)))
    assert not isinstance(receipts, Reply)
    assert all(isinstance(receipt, Accepted) and not receipt.duplicate for receipt in receipts)
    assert len(receipts) == len(world.jobs.all_jobs()) == len(world.bus.accepted()) == count


@pytest.mark.case(103)
async def test_a_batch_of_event_grid_is_our_fault_while_storage_is_away_and_not_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake, sent = build(world), grid_request(grid_events(50))
    world.storage_down()
    with pytest.raises(StorageUnavailable):
        await intake.receive("grid", sent)
    world.storage_down(False)
    world.bus.down = True
    with pytest.raises(QueueUnavailable):
        await intake.receive("grid", sent)
    world.bus.down = False
    receipts = await intake.receive("grid", sent)
    assert not isinstance(receipts, Reply)
    assert len(receipts) == len(world.bus.accepted()) == 50


async def test_event_grid_gets_one_answer_for_the_batch(world: World) -> None:
    intake = build(world)
    status_code, _, body = await over_http(intake, "grid", grid_request(grid_events(3)))
    assert status_code == 202
    assert [job["duplicate"] for job in json.loads(body)["jobs"]] == [False] * 3
    status_code, _, body = await over_http(intake, "grid", grid_request(grid_events(4)))
    assert (status_code, [job["duplicate"] for job in json.loads(body)["jobs"]]) == (
        202,
        [True] * 3 + [False],
    )
    assert (await over_http(intake, "grid", grid_request(grid_events(4))))[0] == 200
    assert (await over_http(intake, "grid", grid_request([])))[::2] == (200, b'{"status":"ignored"}')


@pytest.mark.case(115)
async def test_the_handshakes_of_event_grid_store_nothing(world: World) -> None:
    intake = build(world)
    data = {"validationCode": "code-1", "validationUrl": "http://169.254.169.254/"}
    handshake = [{"id": "1", "eventType": event_grid.VALIDATION, "data": data}]
    status_code, _, body = await over_http(intake, "grid", grid_request(handshake))
    assert (status_code, json.loads(body)) == (200, {"validationResponse": "code-1"})
    consent = replace(
        grid_request([]),
        method="OPTIONS",
        headers={"webhook-request-origin": "eventgrid.azure.net"},
        body=b"",
    )
    status_code, headers, _ = await over_http(intake, "grid", consent)
    assert (status_code, headers["WebHook-Allowed-Origin"]) == (200, "eventgrid.azure.net")
    assert (world.jobs.calls, world.bus.calls, world.open.calls) == ([], [], [])


async def test_an_unwanted_event_of_a_batch_is_told_apart(world: World) -> None:
    events = [*grid_events(2), {"id": "x", "topic": "t", "eventType": "other", "data": {}}]
    receipts = await build(world, route("document.*")).receive("grid", grid_request(events))
    assert not isinstance(receipts, Reply)
    assert [type(receipt) for receipt in receipts] == [Accepted, Accepted, Ignored]


async def test_a_batch_with_one_broken_event_stores_none_of_it(world: World) -> None:
    status_code, _, _ = await over_http(build(world), "grid", grid_request(grid_events(1)))
    assert status_code == 202
    with pytest.raises(MalformedBody, match="`id`"):
        await over_http(build(world), "grid", grid_request([*grid_events(3), {"eventType": "a"}]))
    assert len(world.jobs.all_jobs()) == 1
