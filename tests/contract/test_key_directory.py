"""The key directory's contract, for the fake and the real one over HTTP; then what only the real one has."""

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from shared.adapters import key_sets as module
from shared.adapters.key_sets import (
    AGAIN_SECONDS,
    FETCH_SECONDS,
    FRESH_SECONDS,
    LARGEST_SET,
    LONGEST_SECONDS,
    KeySets,
)
from shared.webhooks.key_directory import KeyDirectory
from shared.webhooks.secrets import KeysUnavailable, SourceNotConfigured
from tests.support.fakes.key_sets import FakeKeySets
from tests.support.issuer import (
    Handler,
    Issuer,
    content,
    endless,
    json_content,
    never,
    public_jwk,
    redirect,
    running_issuer,
)
from tests.support.waiting import in_time

FIRST, SECOND = public_jwk("first"), public_jwk("second")


@dataclass(slots=True)
class Time:
    """A monotonic clock that a test moves."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class Published:
    """A directory, and how to change what is published at `address`; None takes it away."""

    directory: KeyDirectory
    address: str
    publish: Callable[[list[dict[str, Any]] | None], None]
    time: Time = field(default_factory=Time)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to answer than a sender waits."""
    monkeypatch.setattr(module, "FETCH_SECONDS", 60.0)


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with running_issuer() as running:
        yield running


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
async def key_sets(clock: Time) -> AsyncIterator[KeySets]:
    made = KeySets(clock)
    yield made
    await made.aclose()


@pytest.fixture(params=["fake", "real"])
def published(request: pytest.FixtureRequest) -> Published:
    if request.param == "fake":
        fake = FakeKeySets()
        address = "https://keys.example/keys"

        def publish_fake(keys: list[dict[str, Any]] | None) -> None:
            fake.published.pop(address, None)
            if keys is not None:
                fake.published[address] = keys

        return Published(fake, address, publish_fake)
    issuer: Issuer = request.getfixturevalue("issuer")

    def publish(keys: list[dict[str, Any]] | None) -> None:
        issuer.answer = content(b"", 503) if keys is None else None
        issuer.keys = keys or []

    real: KeySets = request.getfixturevalue("key_sets")
    return Published(real, issuer.address, publish, request.getfixturevalue("clock"))


async def test_what_is_published_is_given(published: Published) -> None:
    published.publish([FIRST, SECOND])
    assert list(await published.directory.keys(published.address)) == [FIRST, SECOND]


async def test_what_cannot_be_had_is_our_fault_and_heals(published: Published) -> None:
    published.publish(None)
    with pytest.raises(KeysUnavailable) as caught:
        await published.directory.keys(published.address)
    assert isinstance(caught.value, SourceNotConfigured)
    published.publish([FIRST])
    published.time.now += 1
    assert list(await published.directory.keys(published.address)) == [FIRST]


async def test_a_change_is_seen_by_who_asks_for_a_later_reading_and_then_by_all(published: Published) -> None:
    published.publish([FIRST])
    await published.directory.keys(published.address)
    published.publish([SECOND])
    published.time.now += AGAIN_SECONDS
    assert published.directory.readings(published.address) == 1
    assert list(await published.directory.keys(published.address)) == [FIRST]
    assert list(await published.directory.keys(published.address, after=1)) == [SECOND]
    assert published.directory.readings(published.address) == 2
    assert list(await published.directory.keys(published.address)) == [SECOND]


async def test_a_copy_serves_on_while_the_keys_are_away_but_never_as_a_later_one(
    published: Published,
) -> None:
    published.publish([FIRST])
    await published.directory.keys(published.address)
    published.publish(None)
    published.time.now += AGAIN_SECONDS
    with pytest.raises(KeysUnavailable):
        await published.directory.keys(published.address, after=1)
    assert list(await published.directory.keys(published.address)) == [FIRST]


async def test_each_address_has_its_own_keys(published: Published) -> None:
    published.publish([FIRST])
    await published.directory.keys(published.address)
    with pytest.raises(KeysUnavailable):
        await published.directory.keys("http://127.0.0.1:1/keys")


async def given(directory: KeySets, address: str, *, after: int = 0) -> Sequence[object]:
    return [key["kid"] for key in await directory.keys(address, after=after)]


async def test_fifty_callers_at_once_make_one_fetch(key_sets: KeySets, issuer: Issuer) -> None:
    found = await asyncio.gather(*(given(key_sets, issuer.address) for _ in range(50)))
    assert found == [["first"]] * 50
    assert issuer.fetches == 1


async def test_fifty_callers_at_once_wait_for_one_failure(key_sets: KeySets, issuer: Issuer) -> None:
    issuer.answer = content(b"", 500)
    calls = (given(key_sets, issuer.address) for _ in range(50))
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(error, KeysUnavailable) for error in found)
    assert issuer.fetches == 1


async def test_keys_are_read_again_when_an_hour_old(key_sets: KeySets, issuer: Issuer, clock: Time) -> None:
    await given(key_sets, issuer.address)
    issuer.keys = [SECOND]
    clock.now += FRESH_SECONDS
    assert (await given(key_sets, issuer.address), issuer.fetches) == (["first"], 1)
    clock.now += 1
    assert (await given(key_sets, issuer.address), issuer.fetches) == (["second"], 2)


async def test_later_keys_are_fetched_at_most_once_a_minute_and_until_then_nobody_has_them(
    key_sets: KeySets, issuer: Issuer, clock: Time
) -> None:
    assert key_sets.readings(issuer.address) == 0
    for seconds, fetches in ((0, 1), (0, 1), (AGAIN_SECONDS - 1, 1), (1, 2), (0, 2), (AGAIN_SECONDS, 3)):
        clock.now += seconds
        before = key_sets.readings(issuer.address)
        calls = (given(key_sets, issuer.address, after=before) for _ in range(5))
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert issuer.fetches == key_sets.readings(issuer.address) == fetches
        for one in found:
            assert isinstance(one, KeysUnavailable) if fetches == before else one == ["first"]


async def test_a_fetch_that_fails_brings_nobody_later_keys_within_the_minute(
    key_sets: KeySets, issuer: Issuer, clock: Time
) -> None:
    await given(key_sets, issuer.address)
    issuer.answer = content(b"", 500)
    clock.now += AGAIN_SECONDS
    for _ in range(3):
        with pytest.raises(KeysUnavailable):
            await given(key_sets, issuer.address, after=1)
    assert (issuer.fetches, key_sets.readings(issuer.address)) == (2, 1)
    issuer.answer, clock.now = None, clock.now + AGAIN_SECONDS
    assert await given(key_sets, issuer.address, after=1) == ["first"]


async def test_a_copy_serves_for_a_day_and_no_longer(key_sets: KeySets, issuer: Issuer, clock: Time) -> None:
    await given(key_sets, issuer.address)
    issuer.answer = content(b"", 500)
    clock.now += LONGEST_SECONDS
    assert await given(key_sets, issuer.address) == ["first"]
    clock.now += 1
    with pytest.raises(KeysUnavailable):
        await given(key_sets, issuer.address)
    issuer.answer, clock.now = None, clock.now + 1  # without any usable copy it is tried every second
    assert await given(key_sets, issuer.address) == ["first"]


async def test_an_old_copy_that_cannot_be_renewed_is_tried_once_a_minute(
    key_sets: KeySets, issuer: Issuer, clock: Time
) -> None:
    await given(key_sets, issuer.address)
    issuer.answer = content(b"", 500)
    clock.now += FRESH_SECONDS + 1
    for _ in range(3):
        assert await given(key_sets, issuer.address) == ["first"]
    assert issuer.fetches == 2


async def test_a_caller_that_gives_up_leaves_nothing_behind(
    key_sets: KeySets, issuer: Issuer, clock: Time
) -> None:
    issuer.answer = never()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await given(key_sets, issuer.address)
    with pytest.raises(KeysUnavailable):
        await given(key_sets, issuer.address)
    issuer.answer, clock.now = None, clock.now + 1
    assert await given(key_sets, issuer.address) == ["first"]


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
