"""Answers in the words that a sender of batches understands."""

import json

import pytest

from devhost.senders import azure_monitor, twilio
from tests.support.fakes import World
from tests.support.issuer import token
from tests.unit.shared.batch_intake import PUBLIC_URL, SECRET, build, over_http, request, route
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import ACCOUNT_SID


@pytest.mark.case(103)
async def test_while_keys_cannot_be_had_the_answer_is_to_try_again_later(world: World) -> None:
    sent = request(azure_monitor.signed(b"{}", token({}), now=NOW, header="authorization"))
    status_code, headers, body = await over_http(build(world), "alerts", sent)
    assert (status_code, json.loads(body)["code"]) == (503, "source_not_configured")
    assert int(headers["Retry-After"]) > 0


async def test_twilio_hears_nothing_but_its_empty_instructions(world: World) -> None:
    form = f"AccountSid={ACCOUNT_SID}&MessageSid=SM1&MessageStatus=delivered".encode()
    sent = request(twilio.signed(form, SECRET, now=NOW, public_url=PUBLIC_URL))
    wanted, unwanted = build(world), build(world, route("call.*"))
    for intake in (wanted, wanted, unwanted):
        status_code, _, body = await over_http(intake, "twilio", sent)
        assert (status_code, body) == (200, b'<?xml version="1.0" encoding="UTF-8"?><Response/>')
    assert len(world.jobs.all_jobs()) == 1
