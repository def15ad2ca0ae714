"""Twilio's messages."""

from typing import Any

import pytest

from devhost.outside import twilio_messages
from tests.unit.devhost.outside.calls import ACCOUNT, BASIC, START, Caller, document, refusal

MESSAGE = {"To": "+15005550001", "From": "+15005550006", "Body": "Your kettle is ready."}
LIST = f"{ACCOUNT}/Messages.json"


def found(caller: Caller, **query: str) -> list[str]:
    messages: list[dict[str, Any]] = caller.get(LIST, headers=BASIC, query=query)["messages"]
    return [message["sid"] for message in messages]


def send(caller: Caller, **fields: str) -> str:
    sid: str = document(caller.send_message(**{**MESSAGE, **fields}))["sid"]
    return sid


def test_a_message_is_queued_and_later_found_delivered(caller: Caller) -> None:
    message = document(caller.send_message(**MESSAGE))
    assert (message["status"], message["date_sent"]) == ("queued", None)
    assert message["sid"].startswith("SM")
    shown = caller.get(f"{ACCOUNT}/Messages/{message['sid']}.json", headers=BASIC)
    assert shown["status"] == "delivered"
    assert shown["date_sent"] == message["date_created"]


def test_the_same_message_twice_is_two_messages(caller: Caller) -> None:
    headers = {**BASIC, "content-type": "application/x-www-form-urlencoded"}
    body = b"To=%2B15005550001&From=%2B15005550006&Body=x"
    sids = {caller.post(LIST, body, headers=headers, key="k")["sid"] for _ in range(2)}
    assert len(sids) == 2
    counted = caller.world.effects.snapshot()["message"]
    assert (counted["count"], counted["by_key"], counted["by_reference"]) == (
        2,
        {"k": 2},
        {"+15005550001": 2},
    )
    assert list(counted["by_request"].values()) == [2]


def test_the_list_is_filtered_by_receiver_and_day(caller: Caller) -> None:
    first = send(caller)
    other = send(caller, To="whatsapp:+15005550002")
    caller.moment = START + 86_400
    second = send(caller)
    assert found(caller) == [second, other, first]
    assert found(caller, To="+15005550001") == [second, first]
    assert found(caller, To="whatsapp:+15005550002") == [other]
    assert found(caller, From="+15005550007") == []
    assert found(caller, DateSent="2030-03-17") == [other, first]
    assert found(caller, **{"DateSent>": "2030-03-18"}) == [second]
    assert found(caller, **{"DateSent<": "2030-03-17"}) == [other, first]
    assert found(caller, **{"DateSent>": "2030-03-17T17:46:41Z"}) == [second]


def test_another_accounts_messages_are_not_shown(caller: Caller) -> None:
    sid = send(caller)
    others = "/2010-04-01/Accounts/ACother"
    assert caller.get(f"{others}/Messages.json", headers=BASIC)["messages"] == []
    refusal(caller.call("GET", f"{others}/Messages/{sid}.json", headers=BASIC), 404)


def test_a_message_is_found_after_the_lag(caller: Caller) -> None:
    caller.world.configure({"find_lag_seconds": 5})
    sid = send(caller)
    assert found(caller) == []
    caller.world.advance(5)
    assert found(caller) == [sid]


def test_the_list_has_pages(caller: Caller) -> None:
    sids = [send(caller, Body=str(number)) for number in range(3)]
    page = caller.get(LIST, headers=BASIC, query={"PageSize": "2", "To": "+15005550001"})
    assert [message["sid"] for message in page["messages"]] == [sids[2], sids[1]]
    assert page["next_page_uri"] == f"{LIST}?PageSize=2&To=%2B15005550001&Page=1"
    page = caller.get(LIST, headers=BASIC, query={"PageSize": "2", "Page": "1"})
    assert [message["sid"] for message in page["messages"]] == [sids[0]]
    assert page["next_page_uri"] is None


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"To": ""}, 21604),
        ({"To": "5005550001"}, 21211),
        ({"From": ""}, 21603),
        ({"Body": ""}, 21602),
        ({"Body": "x" * 1_601}, 21617),
    ],
)
def test_a_message_that_is_not_right_is_refused(caller: Caller, fields: dict[str, str], code: int) -> None:
    error = refusal(caller.send_message(**{**MESSAGE, **fields}), 400)
    assert (error["code"], error["status"]) == (code, 400)
    assert caller.count("message") == 0


def test_wrong_questions_are_refused(caller: Caller) -> None:
    send(caller)
    for query in ({"DateSent": "yesterday"}, {"PageSize": "0"}, {"Page": "x"}):
        assert refusal(caller.call("GET", LIST, headers=BASIC, query=query), 400)["code"] == 20001
    assert refusal(caller.call("GET", LIST, headers={}), 401)["code"] == 20003
    assert refusal(caller.call("POST", LIST, {"To": ["x"]}, headers=BASIC), 400)["code"] == 21604


def test_there_are_not_more_messages_than_can_be_kept(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(twilio_messages, "MOST_MESSAGES", 1)
    send(caller)
    refusal(caller.send_message(**MESSAGE), 507)
    assert caller.count("message") == 1
