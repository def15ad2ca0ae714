"""How the answers of an OpenAI-compatible videos API are read."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.openai_client import Answer, OpenAIClient
from shared.adapters.openai_videos import OpenAIVideos, VideoApi
from shared.ai.providers import ApiAddress
from shared.calls.failures import CallFailed, FailureKind
from shared.video.provider import VideoRequest, VideoState, VideoStatus

ORDER = VideoRequest(prompt="A cat", model="sora-2", seconds="8", size="1280x720")
ONCE = "job_x:create_video"


class Scripted(OpenAIClient):
    """Answers every call with `answer`."""

    def __init__(self, document: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(ApiAddress(provider="videos"))
        self.answer = Answer(document, headers or {})

    async def json(self, call: object) -> Answer:
        return self.answer


async def status(document: Any, *hosts: str, headers: dict[str, str] | None = None) -> VideoStatus:
    return await OpenAIVideos(Scripted(document, headers), VideoApi(link_hosts=hosts)).status("video_1")


LINK = "https://media.example.com/a.mp4?sig=marked-word"


@pytest.mark.parametrize("more", [{"outputs": {"video_url": LINK}}, {"url": LINK}])
async def test_a_link_counts_where_the_table_says_where_links_lead(more: dict[str, Any]) -> None:
    found = await status({"status": "completed", **more}, "media.example.com")
    assert found == VideoStatus(state=VideoState.COMPLETED, link=LINK)
    assert "marked-word" not in repr(found)
    assert (await status({"status": "completed", **more})).link is None


@pytest.mark.parametrize("more", [{}, {"outputs": None}, {"outputs": {"video_url": 5}}, {"url": ["x"]}])
async def test_without_a_link_the_services_own_endpoint_serves(more: dict[str, Any]) -> None:
    assert (await status({"status": "completed", **more}, "media.example.com")).link is None


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("2500", timedelta(seconds=2.5)),
        ("999999999", timedelta(hours=1)),
        ("-5", None),
        ("soon", None),
        ("9" * 30, None),
        (None, None),
    ],
)
async def test_the_service_may_say_when_to_look_again(value: str | None, wait: timedelta | None) -> None:
    headers = {} if value is None else {"openai-poll-after-ms": value}
    assert (await status({"status": "queued"}, headers=headers)).retry_after == wait


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["completed", "failed"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(["id", "status", "error", "outputs", "url", "other"])


@given(st.dictionaries(FIELDS, JSON, max_size=5))
async def test_any_json_is_a_status_an_id_or_unclear(document: dict[str, Any]) -> None:
    videos = OpenAIVideos(Scripted(document), VideoApi(link_hosts=("media.example.com",)))
    for awaited in (videos.status("video_1"), videos.create(ORDER, ONCE)):
        try:
            assert await awaited is not None
        except CallFailed as failed:
            assert failed.kind is FailureKind.UNCLEAR  # noqa: PT017  either way is right
