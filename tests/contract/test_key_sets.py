"""Key sets over HTTP: fetched once for all who ask, again when old, and kept while they cannot be had."""

import asyncio

import pytest

from shared.adapters.key_sets import AGAIN_SECONDS, FRESH_SECONDS, LONGEST_SECONDS, KeySets
from shared.webhooks.secrets import KeysUnavailable
from tests.contract.published_keys import SECOND, Time, given
from tests.support.issuer import Issuer, content, never


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
