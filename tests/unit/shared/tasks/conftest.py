"""A service that makes videos and counts them, and the adapter that calls it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from devhost.outside import Outside
from shared.adapters.openai_videos import OpenAIVideos, VideoApi
from tests.support.providers import client_of, outside


@pytest.fixture(scope="module")
def shared_service() -> Iterator[Outside]:
    with outside() as service:
        yield service


@pytest.fixture
def service(shared_service: Outside) -> Outside:
    shared_service.reset()
    return shared_service


@pytest.fixture
async def provider(service: Outside) -> AsyncIterator[OpenAIVideos]:
    async with client_of(service.openai_url) as client:
        yield OpenAIVideos(client, VideoApi())
