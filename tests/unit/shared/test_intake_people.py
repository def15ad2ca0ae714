"""People in the events of batches: one user each, and no telephone number outside the inputs."""

import logging

import pytest

from devhost.senders import twilio
from shared.ports import Row, RowKind
from tests.support.fakes import World
from tests.unit.shared.batch_intake import PUBLIC_URL, SECRET, build, meta_request, request, route, updates
from tests.unit.shared.webhooks.batches import message, number_of, wamid, whatsapp
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import ACCOUNT_SID


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
