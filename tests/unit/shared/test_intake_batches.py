"""Batches over the intake: one job each, in bounded time and number, whole or not acknowledged at all."""

import asyncio
import fnmatch
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jmespath
import pytest

from devhost.senders import azure_monitor, event_grid, meta, twilio
from shared.errors import QueueUnavailable, StorageUnavailable
from shared.http.exchange import HttpRequest
from shared.http.webhooks_api import receive_webhook
from shared.intake import EVENTS_AT_ONCE, Accepted, Ignored, Intake, Receipt
from shared.jobs import Job, JobState
from shared.pipeline import Pipeline, Route
from shared.ports import Row, RowKind
from shared.webhooks.base import Reply, WebhookRequest
from shared.webhooks.event_grid import EventGrid
from shared.webhooks.meta import Meta
from shared.webhooks.rejections import BadSignature, MalformedBody
from shared.webhooks.secrets import SourceSecrets
from tests.support.application import TASK, build_services, pipeline
from tests.support.fakes import World
from tests.support.fakes.key_sets import FakeKeySets
from tests.support.issuer import token
from tests.unit.shared.webhooks.batches import message, number_of, status, wamid, whatsapp
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import ACCOUNT_SID, EXAMPLES, TEXT

SETTINGS = {**TEXT, "A_VERIFY_TOKEN": "an invented token of the tests"}
SECRET = TEXT["A_SECRET"]
PUBLIC_URL = "https://hooks.example.com/api/webhooks/twilio"


def route(event: str, user: str | None = None, keep: str | None = None) -> Route:
    return Route(
        event=event,
        pattern=re.compile(fnmatch.translate(event)),
        task=TASK,
        user=jmespath.compile(user) if user else None,
        keep=jmespath.compile(keep) if keep else None,
    )


def policies(*routes: Route) -> Pipeline:
    """A source of each scheme that sends batches, with these routes."""
    found = routes or (route("*"),)
    names = {"meta": "meta", "grid": "event-grid-header", "twilio": "twilio", "alerts": "azure-monitor-token"}
    sources = {
        name: replace(EXAMPLES[example].policy(name, found), max_body=3 * 1024 * 1024)
        for name, example in names.items()
    }
    return replace(pipeline(), sources=sources)


def build(world: World, *routes: Route) -> Intake:
    services = build_services(world, pipeline=policies(*routes))
    return Intake(services, SourceSecrets(SETTINGS), FakeKeySets())


def request(sent: tuple[dict[str, str], str, bytes]) -> WebhookRequest:
    headers, query, body = sent
    return WebhookRequest(
        method="POST",
        headers={"content-length": str(len(body)), **headers},
        query=query,
        url="https://hooks.example.com/api/webhooks/source",
        body=body,
    )


def meta_request(document: Any) -> WebhookRequest:
    return request(meta.signed(json.dumps(document).encode(), SECRET, now=NOW))


def grid_request(document: Any) -> WebhookRequest:
    return request(event_grid.signed(json.dumps(document).encode(), SECRET, now=NOW))


def grid_events(count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"event-{number}", "topic": "t", "eventType": "document.added", "data": {"n": number}}
        for number in range(count)
    ]


def updates(count: int) -> dict[str, Any]:
    """Half of them messages, half statuses."""
    people = range(count // 2)
    return whatsapp([message(n) for n in people], [status(n) for n in people])


async def taken(intake: Intake, request: WebhookRequest) -> list[Receipt]:
    receipts = await intake.receive("meta", request)
    assert not isinstance(receipts, Reply)
    return list(receipts)


async def test_each_of_a_thousand_updates_becomes_one_job_with_one_insert(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Meta, "answer_within", 60.0)  # on a busy machine, too
    intake = build(world)
    receipts = await taken(intake, meta_request(updates(1000)))
    assert [type(receipt) for receipt in receipts] == [Accepted] * 1000
    jobs = world.jobs.all_jobs()
    assert len({job.job_id for job in jobs}) == 1000
    assert world.jobs.calls == ["insert"] * 1000
    assert len(world.bus.accepted()) == 1000
    assert world.open.keys() == {(job.job_id, 0) for job in jobs}
    assert world.telemetry.counted("webhooks_accepted", source="meta") == 1000


async def test_the_same_batch_again_in_another_grouping_makes_no_further_job(world: World) -> None:
    intake = build(world)
    await intake.receive("meta", meta_request(updates(20)))
    for people in (range(5), range(5, 10)):
        again = whatsapp([message(n) for n in people], [status(n) for n in people])
        await intake.receive("meta", meta_request(again))
    assert len(world.jobs.all_jobs()) == len(world.bus.accepted()) == 20
    assert world.telemetry.counted("webhooks_duplicate") == 20
    assert world.telemetry.counted("webhooks_same_id_other_body") == 0


async def test_an_update_twice_in_one_batch_is_one_job(world: World) -> None:
    await build(world).receive("meta", meta_request(whatsapp([message(1), message(1), message(2)])))
    assert len(world.jobs.all_jobs()) == len(world.bus.accepted()) == 2


async def test_parallel_copies_of_a_batch_make_each_job_once(world: World) -> None:
    intake, sent = build(world), meta_request(updates(20))
    await asyncio.gather(*(intake.receive("meta", sent) for _ in range(20)))
    assert len(world.jobs.all_jobs()) == len(world.bus.accepted()) == 20


async def test_only_so_many_updates_are_worked_on_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy, most = 0, 0
    insert = world.jobs.insert

    async def counted(job: Job, rows: Sequence[Row]) -> bool:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        for _ in range(5):
            await asyncio.sleep(0)
        inserted = await insert(job, rows)
        busy -= 1
        return inserted

    monkeypatch.setattr(world.jobs, "insert", counted)
    await build(world).receive("meta", meta_request(updates(200)))
    assert most == EVENTS_AT_ONCE


@pytest.mark.parametrize(
    ("fake", "method", "error"),
    [
        ("jobs", "insert", StorageUnavailable),
        ("open", "put", StorageUnavailable),
        ("bus", "send", QueueUnavailable),
    ],
)
@pytest.mark.parametrize("after", [False, True])
async def test_a_batch_of_which_a_part_fails_is_not_acknowledged_and_its_repeat_finishes_it(
    world: World, fake: str, method: str, error: type[Exception], after: bool
) -> None:
    intake, sent = build(world), meta_request(updates(100))
    getattr(world, fake).fail_next(method, after=after, times=7)
    with pytest.raises(error):
        await intake.receive("meta", sent)
    assert len(await taken(intake, sent)) == 100
    jobs = world.jobs.all_jobs()
    assert len(jobs) == len(world.bus.accepted()) == 100
    assert {job.state for job in jobs} == {JobState.QUEUED}
    assert world.open.keys() == {(job.job_id, 0) for job in jobs}


async def test_a_batch_whose_storage_hangs_is_given_up_in_time_and_its_repeat_finishes_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake, sent = build(world), meta_request(updates(100))

    async def hang() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Meta, "answer_within", 0.2)
    world.jobs.before("insert", hang)
    with pytest.raises(StorageUnavailable):
        await intake.receive("meta", sent)
    monkeypatch.undo()
    assert len(await taken(intake, sent)) == 100
    assert len(world.jobs.all_jobs()) == len(world.bus.accepted()) == 100


async def test_only_the_updates_that_a_route_wants_become_jobs(world: World) -> None:
    wanted = route("whatsapp_business_account.messages.text")
    await build(world, wanted).receive("meta", meta_request(updates(20)))
    assert {job.event_type for job in world.jobs.all_jobs()} == {wanted.event}
    assert len(world.jobs.all_jobs()) == 10
    sent = meta_request(whatsapp([], [status(1)]))
    assert await taken(build(World(), wanted), sent) == [Ignored()]


async def rows_of(world: World) -> list[Row]:
    """Every stored row that is no input."""
    kinds = [kind for kind in RowKind if kind is not RowKind.INPUT]
    return [
        row
        for job in world.jobs.all_jobs()
        for kind in kinds
        for row in await world.jobs.rows(job.job_id, kind)
    ]


async def test_no_telephone_number_or_id_that_holds_one_leaves_the_inputs(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    people = route("*.messages.text", user="message.from", keep="message.type")
    receivers = route("*.status.*", user="status.recipient_id")
    intake, sent = build(world, people, receivers), meta_request(updates(20))
    with caplog.at_level(logging.DEBUG):
        await intake.receive("meta", sent)
        await intake.receive("meta", sent)
        changed = meta_request(whatsapp([message(1, text={"body": "another"})]))
        await intake.receive("meta", changed)
    assert world.telemetry.counted("webhooks_same_id_other_body") == 1
    jobs = world.jobs.all_jobs()
    assert all(job.user_id and job.user_id.startswith("h_") for job in jobs)
    assert all(job.event_id.startswith("h_") for job in jobs)
    stored = repr(jobs) + repr(await rows_of(world)) + repr(world.open.keys()) + repr(world.blobs.refs())
    told = repr(world.bus.sent) + caplog.text + repr(vars(world.telemetry))
    for person in range(10):
        for private in (number_of(person), wamid(person).removeprefix("wamid."), f"Person {person}"):
            assert private not in stored
            assert private not in told
    assert "wamid" not in stored + told


async def test_a_user_of_twilio_is_no_telephone_number_either(world: World) -> None:
    form = f"AccountSid={ACCOUNT_SID}&MessageSid=SM1&SmsStatus=received&WaId={number_of(1)}".encode()
    sent = request(twilio.signed(form, SECRET, now=NOW, public_url=PUBLIC_URL))
    await build(world, route("*", user="WaId")).receive("twilio", sent)
    (job,) = world.jobs.all_jobs()
    assert job.user_id is not None
    assert job.user_id.startswith("h_")


async def test_one_person_is_one_user_in_messages_and_statuses(world: World) -> None:
    people, receivers = route("*.text", user="message.from"), route("*", user="status.recipient_id")
    await build(world, people, receivers).receive("meta", meta_request(updates(4)))
    users = [job.user_id for job in world.jobs.all_jobs()]
    assert sorted(users.count(user) for user in set(users)) == [2, 2]


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


async def over_http(
    intake: Intake, source: str, sent: WebhookRequest
) -> tuple[int, Mapping[str, str], bytes]:
    answer = await receive_webhook(
        intake,
        HttpRequest(
            method=sent.method,
            url=f"https://hooks.example.com/api/webhooks/{source}?{sent.query}",
            headers=sent.headers,
            params={"source": source},
            body=sent.body,
        ),
    )
    return answer.status, answer.headers, answer.body


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


@pytest.mark.case(103)
async def test_while_keys_cannot_be_had_the_answer_is_to_try_again_later(world: World) -> None:
    sent = request(azure_monitor.signed(b"{}", token({}), now=NOW, header="authorization"))
    status_code, headers, body = await over_http(build(world), "alerts", sent)
    assert (status_code, json.loads(body)["code"]) == (503, "source_not_configured")
    assert int(headers["Retry-After"]) > 0


async def test_a_forged_batch_with_the_ids_of_a_real_one_does_not_disturb_it(world: World) -> None:
    intake, real = build(world), meta_request(updates(10))
    forged = request(meta.signed(real.body, "a secret of somebody else", now=NOW))
    with pytest.raises(BadSignature):
        await intake.receive("meta", forged)
    assert world.jobs.calls == []
    await intake.receive("meta", real)
    assert world.telemetry.counted("webhooks_duplicate") == 0
    assert world.telemetry.counted("webhooks_accepted") == 10


async def test_twilio_hears_nothing_but_its_empty_instructions(world: World) -> None:
    form = f"AccountSid={ACCOUNT_SID}&MessageSid=SM1&MessageStatus=delivered".encode()
    sent = request(twilio.signed(form, SECRET, now=NOW, public_url=PUBLIC_URL))
    wanted, unwanted = build(world), build(world, route("call.*"))
    for intake in (wanted, wanted, unwanted):
        status_code, _, body = await over_http(intake, "twilio", sent)
        assert (status_code, body) == (200, b'<?xml version="1.0" encoding="UTF-8"?><Response/>')
    assert len(world.jobs.all_jobs()) == 1


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


def test_a_batch_has_the_time_that_its_sender_waits() -> None:
    assert EventGrid.answer_within > Meta.answer_within
