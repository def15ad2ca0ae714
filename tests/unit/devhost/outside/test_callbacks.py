"""The receiver of callbacks."""

from devhost.outside.callbacks import MOST_CALLBACKS
from tests.unit.devhost.outside.calls import Caller


def test_what_was_received_is_shown_with_headers_and_body(caller: Caller) -> None:
    answer = caller.call(
        "POST", "/callbacks/github", b'{"type": "job.succeeded"}', headers={"webhook-id": "m"}
    )
    assert answer.status == 204
    (received,) = caller.world.callbacks.received()
    assert received["path"] == "/callbacks/github"
    assert received["headers"]["webhook-id"] == "m"
    assert received["body"] == '{"type": "job.succeeded"}'
    assert caller.world.effects.snapshot()["callback"]["by_reference"] == {"github": 1}


def test_a_repeated_message_is_received_twice_and_happens_once(caller: Caller) -> None:
    for _ in range(2):
        caller.call("POST", "/callbacks", b"{}", headers={"webhook-id": "m"})
    counted = caller.world.effects.snapshot()["callback"]
    assert (counted["count"], counted["repeats"]) == (1, 1)
    assert len(caller.world.callbacks.received()) == 2


def test_messages_without_an_id_all_happen(caller: Caller) -> None:
    for _ in range(2):
        caller.call("POST", "/callbacks", b"\xff")
    assert caller.count("callback") == 2


def test_the_last_callbacks_are_kept_and_all_are_counted(caller: Caller) -> None:
    for number in range(MOST_CALLBACKS + 1):
        caller.call("POST", "/callbacks", str(number).encode() + b"x" * 20_000)
    received = caller.world.callbacks.received()
    assert len(received) == MOST_CALLBACKS
    assert received[0]["body"].startswith("1x")
    assert len(received[0]["body"]) == 16 * 1024
    assert caller.count("callback") == MOST_CALLBACKS + 1
