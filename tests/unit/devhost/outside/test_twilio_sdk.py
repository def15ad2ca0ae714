"""Twilio's own SDK against the outside."""

from datetime import UTC, datetime, timedelta

import pytest
from twilio.base.exceptions import TwilioRestException  # type: ignore[import-untyped]  # it has no types
from twilio.rest import Client  # type: ignore[import-untyped]  # it has no types

from devhost.outside import Outside, steps

RECEIVER, SENDER = "+15005550001", "+15005550006"


@pytest.fixture
def twilio(outside: Outside) -> Client:
    client = Client("ACinvented", "invented")
    client.api.base_url = outside.url
    return client


def test_a_message_is_sent_and_found_by_receiver_and_day(twilio: Client, outside: Outside) -> None:
    message = twilio.messages.create(to=RECEIVER, from_=SENDER, body="Your kettle is ready.")
    assert message.status == "queued"
    today = datetime.now(UTC)
    found = twilio.messages.list(to=RECEIVER, date_sent=today.date())
    assert [one.sid for one in found] == [message.sid]
    assert twilio.messages.list(to=RECEIVER, date_sent_after=today + timedelta(days=1)) == []
    assert twilio.messages(message.sid).fetch().body == "Your kettle is ready."
    assert outside.effects()["message"].by_reference == {RECEIVER: 1}


def test_the_sdk_walks_through_all_pages(twilio: Client) -> None:
    sids = [twilio.messages.create(to=RECEIVER, from_=SENDER, body=str(number)).sid for number in range(5)]
    assert [found.sid for found in twilio.messages.list(page_size=2)] == sids[::-1]


def test_a_fault_is_the_sdks_error(twilio: Client, outside: Outside) -> None:
    outside.script("POST", "/2010-04-01/Accounts/*/Messages.json", steps.status(400, code="63016"))
    with pytest.raises(TwilioRestException) as refused:
        twilio.messages.create(to=RECEIVER, from_=SENDER, body="x")
    assert (refused.value.status, refused.value.code) == (400, 63016)
    assert outside.effects()["message"].count == 0
