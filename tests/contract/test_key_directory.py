"""The contract of KeyDirectory, for the fake and the real one over HTTP."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from shared.adapters.key_sets import AGAIN_SECONDS, KeySets
from shared.webhooks.key_directory import KeyDirectory
from shared.webhooks.secrets import KeysUnavailable, SourceNotConfigured
from tests.contract.published_keys import FIRST, SECOND, Time
from tests.support.fakes.key_sets import FakeKeySets
from tests.support.issuer import Issuer, content


@dataclass(slots=True)
class Published:
    """A directory, and how to change what is published at `address`; None takes it away."""

    directory: KeyDirectory
    address: str
    publish: Callable[[list[dict[str, Any]] | None], None]
    time: Time = field(default_factory=Time)


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
