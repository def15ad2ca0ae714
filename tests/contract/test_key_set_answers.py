"""What a server of keys may answer and what is refused, and what it is told of us."""

import gzip
import json
import logging
from typing import Any

import pytest

from shared.adapters import key_sets as module
from shared.adapters.key_sets import AGAIN_SECONDS, FETCH_SECONDS, LARGEST_SET, KeySets
from shared.webhooks.secrets import KeysUnavailable
from tests.contract.published_keys import FIRST, Time, given
from tests.support.issuer import Handler, Issuer, content, endless, json_content, never, redirect
from tests.support.waiting import in_time

GOOD = json.dumps({"keys": [FIRST]}).encode()


@pytest.mark.case(115)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(key_sets: KeySets, issuer: Issuer, status: int) -> None:
    location = f"{issuer.origin}/elsewhere"
    issuer.answer = redirect(location) if status == 302 else content(GOOD, status, {"Location": location})
    with pytest.raises(KeysUnavailable):
        await given(key_sets, issuer.address)
    assert issuer.paths == ["/keys"]


@pytest.mark.parametrize(
    "answer",
    [
        content(GOOD, 404),
        content(GOOD, 201),
        content(b""),
        content(b"<html>"),
        content(b"\xff"),
        content(b"[" * 100_000),
        json_content([FIRST]),
        json_content({"keys": []}),
        json_content({"keys": {"first": FIRST}}),
        json_content({"keys": ["first", None]}),
        json_content({"key": [FIRST]}),
        content(gzip.compress(GOOD), headers={"Content-Encoding": "gzip"}),
        content(GOOD[:-1] + b" " * LARGEST_SET + b"}"),
        endless(),
    ],
)
async def test_an_answer_that_is_no_small_key_set_is_refused(
    key_sets: KeySets, issuer: Issuer, answer: Handler
) -> None:
    issuer.answer = answer
    with pytest.raises(KeysUnavailable):
        await given(key_sets, issuer.address)


async def test_a_key_set_just_within_the_limit_is_read(key_sets: KeySets, issuer: Issuer) -> None:
    issuer.answer = content(GOOD[:-1] + b" " * (LARGEST_SET - len(GOOD)) + b"}")
    assert await given(key_sets, issuer.address) == ["first"]


@pytest.mark.parametrize("begin", [b"", b'{"keys": ['])
async def test_a_silent_server_is_waited_for_no_longer_than_a_sender_waits(
    key_sets: KeySets, issuer: Issuer, clock: Time, begin: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FETCH_SECONDS", FETCH_SECONDS)
    issuer.answer = never(begin)

    async def fails() -> None:
        clock.now += 1  # it may be tried again
        with pytest.raises(KeysUnavailable):
            await given(key_sets, issuer.address)

    await in_time(3 * FETCH_SECONDS, fails)
    assert issuer.fetches >= 1


async def test_a_failure_is_logged_with_its_kind_alone(
    key_sets: KeySets, issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.answer = content(b"what the server said")
    with caplog.at_level(logging.WARNING), pytest.raises(KeysUnavailable):
        await given(key_sets, issuer.address)
    assert [record.getMessage() for record in caplog.records] == [
        f"The key set {issuer.address} could not be read: JSONDecodeError"
    ]


async def test_nothing_is_sent_that_a_server_could_follow(
    key_sets: KeySets, issuer: Issuer, clock: Time
) -> None:
    seen: list[dict[str, str]] = []

    async def answer(request: Any) -> Any:
        seen.append(dict(request.headers))
        return await content(GOOD, headers={"Set-Cookie": "a=b"})(request)

    issuer.answer = answer
    for before in range(2):
        await given(key_sets, issuer.address, after=before)
        clock.now += AGAIN_SECONDS
    assert len(seen) == 2
    assert all("Cookie" not in headers for headers in seen)
