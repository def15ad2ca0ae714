"""Sending callbacks, to the outside's own receiver."""

import asyncio
import base64
import hashlib
import hmac
import json

import aiohttp
import pytest

from devhost.outside import Outside, steps
from devhost.outside.messages import Post
from devhost.outside.posting import Sender
from devhost.outside.settings import Settings
from tests.support.waiting import eventually

BEARER = {"authorization": "Bearer invented"}
QUICK = Settings(post_pause_seconds=0.001, post_tries=4)


async def sent(post: Post, settings: Settings = QUICK) -> list[int]:
    """The statuses that its tries were answered."""
    async with Sender(lambda: settings) as sender:
        await sender.send(post)
        return [told["status"] for told in sender.told()]


async def test_a_callback_is_sent_until_it_is_taken(outside: Outside) -> None:
    outside.script("POST", "/callbacks", steps.status(500), "cut_before")
    assert await sent(Post(outside.callbacks_url, "m", b"{}")) == [500, 0, 204]
    (received,) = outside.callbacks()
    assert received["headers"]["webhook-id"] == "m"


async def test_a_callback_that_is_never_taken_is_given_up(outside: Outside) -> None:
    outside.script("POST", "/callbacks", steps.status(404, times=9))
    assert await sent(Post(outside.callbacks_url, "m", b"{}")) == [404] * 4


async def test_nothing_is_sent_elsewhere_than_loopback() -> None:
    assert await sent(Post("http://192.0.2.1/", "m", b"{}")) == [0] * 4


async def test_a_callback_is_signed_when_there_is_a_secret(outside: Outside) -> None:
    key = b"an invented key"
    secret = f"whsec_{base64.b64encode(key).decode()}"
    assert await sent(Post(outside.callbacks_url, "m", b"{}"), Settings(callback_secret=secret)) == [204]
    headers = outside.callbacks()[0]["headers"]
    digest = hmac.digest(key, f"m.{headers['webhook-timestamp']}.".encode() + b"{}", hashlib.sha256)
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"


async def test_what_waits_is_given_up_at_the_end(outside: Outside) -> None:
    outside.script("POST", "/callbacks", steps.status(500))
    slow = Settings(post_pause_seconds=1_000)
    async with Sender(lambda: slow) as sender:
        sender.later(Post(outside.callbacks_url, "m", b"{}"))
        await asyncio.to_thread(eventually, lambda: len(sender.told()) == 1, "one try")
    assert len(outside.calls()) == 1


async def test_the_end_of_a_video_is_told_to_the_address_of_its_creation(outside: Outside) -> None:
    body = {"prompt": "a kettle", "callback_url": f"{outside.callbacks_url}/video"}
    async with (
        aiohttp.ClientSession(headers=BEARER) as session,
        session.post(f"{outside.openai_url}/videos", json=body) as answer,
    ):
        video_id = (await answer.json())["id"]
    outside.configure(post_pause_seconds=0.01)
    outside.script("POST", "/callbacks/video", steps.status(503))
    outside.finish_video(video_id)
    await asyncio.to_thread(eventually, lambda: len(outside.posts()) == 2, "two tries")
    event = json.loads(outside.callbacks()[0]["body"])
    assert (event["type"], event["data"]["id"]) == ("video.completed", video_id)
    assert [told["status"] for told in outside.posts()] == [503, 204]


async def test_a_callback_can_come_before_the_answer_to_its_creation(outside: Outside) -> None:
    outside.script("POST", "/v1/videos", {"callback_first": True, "cut_after": True})
    body = {"prompt": "a kettle", "callback_url": outside.callbacks_url}
    async with aiohttp.ClientSession(headers=BEARER) as session:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.post(f"{outside.openai_url}/videos", json=body)
    assert len(outside.callbacks()) == 1
