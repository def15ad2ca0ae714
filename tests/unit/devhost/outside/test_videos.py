"""The video API."""

import json
from typing import Any

import pytest

from devhost.outside import videos
from tests.unit.devhost.outside.calls import Caller, document, multipart, refusal

HERE = "http://127.0.0.1:9/told"


def create(caller: Caller, prompt: str = "a kettle", **more: Any) -> str:
    video_id: str = caller.post("/v1/videos", {"prompt": prompt}, **more)["id"]
    return video_id


def statuses(caller: Caller, video_id: str, polls: int) -> list[str]:
    return [caller.get(f"/v1/videos/{video_id}")["status"] for _ in range(polls)]


def test_a_video_moves_on_by_its_polls(caller: Caller) -> None:
    caller.world.configure({"polls_queued": 2, "polls_in_progress": 1})
    video_id = create(caller)
    assert statuses(caller, video_id, 5) == ["queued", "queued", "in_progress", "completed", "completed"]


def test_a_video_shows_what_was_asked_for(caller: Caller) -> None:
    body, headers = multipart({"prompt": "a cup", "seconds": "8", "size": "1280x720", "model": "sora-2-pro"})
    video = document(caller.call("POST", "/v1/videos", body, headers=headers))
    shown = {name: video[name] for name in ("object", "status", "seconds", "size", "model", "prompt")}
    assert shown == {
        "object": "video",
        "status": "queued",
        "seconds": "8",
        "size": "1280x720",
        "model": "sora-2-pro",
        "prompt": "a cup",
    }


def test_the_content_is_there_when_the_video_is_completed(caller: Caller) -> None:
    video_id = create(caller)
    path = f"/v1/videos/{video_id}/content"
    assert refusal(caller.call("GET", path), 404)["error"]["code"] == "video_not_ready"
    statuses(caller, video_id, 3)
    answer = caller.call("GET", path, headers={"authorization": "Bearer x", "range": "bytes=0-3"})
    assert (answer.status, answer.content_type) == (200, "video/mp4")
    assert answer.body[4:8] == b"ftyp"
    assert len(answer.body) > 1_000, "the range is ignored"
    assert refusal(caller.call("GET", path, query={"variant": "thumbnail"}), 400)


def test_a_creation_that_fails_is_told_by_the_polls(caller: Caller) -> None:
    video_id = create(caller, reply={"creation_fails": "out_of_film"})
    assert statuses(caller, video_id, 3) == ["queued", "in_progress", "failed"]
    video = caller.get(f"/v1/videos/{video_id}")
    assert video["error"]["code"] == "out_of_film"
    assert refusal(caller.call("GET", f"/v1/videos/{video_id}/content"), 404)


def test_each_creation_is_a_video_though_its_key_is_the_same(caller: Caller) -> None:
    assert create(caller, key="k") != create(caller, key="k")
    assert caller.world.effects.snapshot()["video"]["by_key"] == {"k": 2}


def test_keys_are_honoured_when_the_setting_says_so(caller: Caller) -> None:
    caller.world.configure({"videos_honour_keys": True})
    assert create(caller, key="k") == create(caller, key="k")
    assert create(caller, key="other") != create(caller, key="k")
    refusal(caller.call("POST", "/v1/videos", {"prompt": "another"}, key="k"), 422)
    assert caller.count("video") == 2


def test_the_list_has_the_newest_first_by_pages(caller: Caller) -> None:
    ids = [create(caller, f"number {number}") for number in range(5)]
    page = caller.get("/v1/videos", query={"limit": "2"})
    assert [video["id"] for video in page["data"]] == [ids[4], ids[3]]
    assert page["has_more"]
    page = caller.get("/v1/videos", query={"limit": "3", "after": page["last_id"]})
    assert [video["id"] for video in page["data"]] == [ids[2], ids[1], ids[0]]
    assert not page["has_more"]
    assert caller.get("/v1/videos", query={"order": "asc"})["first_id"] == ids[0]


def test_a_video_is_listed_after_the_lag(caller: Caller) -> None:
    caller.world.configure({"find_lag_seconds": 30})
    video_id = create(caller)
    assert caller.get("/v1/videos")["data"] == []
    caller.world.advance(30)
    assert [video["id"] for video in caller.get("/v1/videos")["data"]] == [video_id]


def test_a_video_that_ended_can_be_deleted(caller: Caller) -> None:
    video_id = create(caller)
    refusal(caller.call("DELETE", f"/v1/videos/{video_id}"), 409)
    statuses(caller, video_id, 3)
    assert document(caller.call("DELETE", f"/v1/videos/{video_id}"))["deleted"]
    refusal(caller.call("GET", f"/v1/videos/{video_id}"), 404)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": 7}, "prompt"),
        ({"prompt": "x" * 8_001}, "prompt"),
        ({"prompt": "x", "seconds": 4}, "seconds"),
        ({"prompt": "x", "seconds": "5"}, "seconds"),
        ({"prompt": "x", "seconds": []}, "seconds"),
        ({"prompt": "x", "size": "1x1"}, "size"),
        ({"prompt": "x", "callback_url": "https://example.com/"}, "callback_url"),
        ({"prompt": "x", "callback_url": "http://10.0.0.1/"}, "callback_url"),
    ],
)
def test_a_creation_that_is_not_right_is_refused(caller: Caller, fields: object, param: str) -> None:
    assert refusal(caller.call("POST", "/v1/videos", fields), 400)["error"]["param"] == param
    assert caller.count("video") == 0


def test_without_an_api_key_nothing_is_done(caller: Caller) -> None:
    for method, path in (("POST", "/v1/videos"), ("GET", "/v1/videos"), ("GET", "/v1/videos/x/content")):
        refusal(caller.call(method, path, {"prompt": "x"}, headers={}), 401)


def test_the_end_is_told_once_to_the_address_of_the_creation_and_to_the_settings(caller: Caller) -> None:
    caller.world.configure({"video_callback_url": f"{HERE}/all"})
    video_id = caller.post("/v1/videos", {"prompt": "x", "callback_url": HERE})["id"]
    answers = [caller.call("GET", f"/v1/videos/{video_id}") for _ in range(4)]
    told = [[post.url for post in answer.posts] for answer in answers]
    assert told == [[], [], [HERE, f"{HERE}/all"], []]
    event = json.loads(answers[2].posts[0].body)
    assert (event["type"], event["data"]) == ("video.completed", {"id": video_id})


def test_a_video_can_be_ended_without_polls(caller: Caller) -> None:
    first, second = create(caller), create(caller)
    shown, posts = caller.world.finish(first, fails="", callback_url=HERE)
    assert shown["status"] == "completed"
    assert [post.url for post in posts] == [HERE]
    shown, _ = caller.world.finish(second, fails="out_of_film", callback_url="")
    assert shown["error"]["code"] == "out_of_film"
    assert statuses(caller, second, 1) == ["failed"]


def test_a_callback_can_come_before_the_creations_answer(caller: Caller) -> None:
    answer = caller.call(
        "POST", "/v1/videos", {"prompt": "x", "callback_url": HERE}, reply={"callback_first": True}
    )
    assert document(answer)["status"] == "queued"
    assert len(answer.posts) == 1
    assert statuses(caller, document(answer)["id"], 1) == ["completed"]


def test_there_are_not_more_videos_than_can_be_kept(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(videos, "MOST_VIDEOS", 1)
    create(caller)
    refusal(caller.call("POST", "/v1/videos", {"prompt": "x"}), 507)
    assert caller.count("video") == 1
