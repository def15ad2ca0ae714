"""The host dies by SIGKILL on the way to a video; the service counts: it was ordered once."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devhost.outside import Outside
from shared.failpoints import Point
from tests.flows.driver import FAST, PIPELINE, Flow, event_id
from tests.support.outside_calls import count_of, listed_videos
from tests.support.stacks import flow_stack

pytestmark = [pytest.mark.flows, pytest.mark.kills]

POINTS = [Point.VIDEO_AFTER_STATUS, Point.VIDEO_AFTER_FETCH]
TABLES = """
[[sources.github.routes]]
event = "repository_dispatch.video"
task = "generate_video"
input = "{prompt: client_payload.prompt}"

[tasks.generate_video]
attempt_timeout = "10s"
submit_timeout = "5s"

[tasks.generate_video.retry]
attempts = 9
deadline = "1h"
backoff = ["1s"]

[tasks.generate_video.poll]
deadline = "10m"
backoff = ["500ms"]
"""


@dataclass(frozen=True, slots=True)
class VideoFlow:
    flow: Flow
    service: Outside

    def order(self, prompt: str) -> str:
        return self.flow.deliver_until_accepted(event_id(), {"prompt": prompt}, action="video")

    def orders(self, job_id: str) -> int:
        """How many videos the service began for the job."""
        return count_of(job_id, self.service.effects()["video"].by_request)

    def assert_made_once(self, job_id: str) -> None:
        job = self.flow.wait_for(f"jobs/{job_id}", status="succeeded")
        self.flow.wait_open_index_without(job_id)
        assert self.flow.blob(job["result_ref"])[4:8] == b"ftyp"
        assert len(self.flow.results(job_id)) == 1
        assert self.orders(job_id) == 1


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VideoFlow]:
    folder = tmp_path_factory.mktemp("video")
    pipeline = _pipeline(folder)
    with Outside() as service:
        settings = {**FAST, "VIDEO_BASE_URL": service.openai_url, "VIDEO_API_KEY": "an-invented-key"}
        with flow_stack(folder, settings=settings, pipeline=pipeline) as stack:
            yield VideoFlow(Flow(stack), service)


def _pipeline(folder: Path) -> Path:
    head, mark, tail = PIPELINE.read_text(encoding="utf-8").partition("[tasks.summarize_document]")
    copy = folder.with_name(f"{folder.name}-pipeline.toml")
    copy.write_text(head + TABLES + mark + tail, encoding="utf-8")
    return copy


@pytest.mark.parametrize("point", POINTS)
def test_a_host_killed_on_the_way_to_a_video_has_it_made_once(videos: VideoFlow, point: Point) -> None:
    videos.flow.failpoints.kill(point)
    job_id = videos.order(f"A crane, and {point}")
    videos.flow.failpoints.wait_fired(point)
    videos.assert_made_once(job_id)


def test_a_host_killed_after_the_order_leaves_a_case_that_a_person_ends(videos: VideoFlow) -> None:
    """No key and no way to ask: only a look into the service's own list tells."""
    videos.flow.failpoints.kill(Point.EFFECT_AFTER_CALL)
    job_id = videos.order("A quay in the rain")
    videos.flow.failpoints.wait_fired(Point.EFFECT_AFTER_CALL)
    videos.flow.wait_for(f"jobs/{job_id}", status="dead")
    videos.flow.wait_until(lambda: bool(videos.flow.cases(job_id)), "the case is filed")
    (case,) = videos.flow.cases(job_id)
    assert case["category"] == "reconcile"
    assert videos.orders(job_id) == 1
    found = listed_videos(videos.service)[0]["id"]
    decision = {"effect": "create_video", "outcome": "done", "external_id": found}
    videos.flow.decide_until_accepted(job_id, "reconcile", event_id(), **decision)
    videos.assert_made_once(job_id)
