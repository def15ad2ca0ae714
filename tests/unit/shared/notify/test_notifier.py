"""One attempt: what is sent, where nothing is sent, and what each answer means."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import pytest

from shared.notify.announcement import Announcement
from shared.notify.notifier import NoRoom, NotTold, SignedNotifier, Told
from shared.notify.posting import PostAnswer, PostFailed
from shared.notify.receivers import AT_ONCE, FAILURES
from shared.pipeline.policies import NotifyPolicy
from tests.support.fakes.time import START, FakeClock
from tests.support.notify import NOTIFY_SECRET, RECEIVER

SECRET = "whsec_" + "QUFB" * 10
POLICY = NotifyPolicy(url=RECEIVER, secret=NOTIFY_SECRET)
SAID = Announcement(
    webhook_id="job_a-0-succeeded",
    kind="job.succeeded",
    release=0,
    happened_at=START,
    data={"job_id": "job_a"},
    due_at=START,
)


class ScriptedPost:
    """Answers by script, otherwise 204; remembers what was posted."""

    def __init__(self, *script: int | PostAnswer | Exception) -> None:
        self.script = list(script)
        self.posts: list[tuple[str, Mapping[str, str], bytes]] = []
        self.gate: asyncio.Event | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> PostAnswer:
        self.posts.append((url, headers, body))
        if self.gate is not None:
            await self.gate.wait()
        step = self.script.pop(0) if self.script else 204
        if isinstance(step, Exception):
            raise step
        return PostAnswer(status=step) if isinstance(step, int) else step


def notifier(
    post: ScriptedPost, clock: FakeClock | None = None, environ: Mapping[str, str] | None = None
) -> SignedNotifier:
    return SignedNotifier(
        post,
        clock or FakeClock(),
        {NOTIFY_SECRET: SECRET} if environ is None else environ,
        allowed_hosts=("hooks.example.com",),
        private_hosts=(),
    )


async def test_the_receiver_gets_the_signed_announcement() -> None:
    post = ScriptedPost()
    assert await notifier(post).tell("events", POLICY, SAID) == Told()
    [(url, headers, body)] = post.posts
    assert (url, body) == (RECEIVER, SAID.body())
    assert headers["webhook-id"] == "job_a-0-succeeded"
    assert headers["content-type"] == "application/json"
    assert {"webhook-timestamp", "webhook-signature"} <= headers.keys()


async def test_a_later_attempt_has_the_same_id_and_body_and_a_time_of_its_own() -> None:
    post, clock = ScriptedPost(503), FakeClock()
    telling = notifier(post, clock)
    await telling.tell("events", POLICY, SAID)
    clock.advance(3600)
    await telling.tell("events", POLICY, SAID)
    first, second = post.posts
    assert first[2] == second[2]
    assert first[1]["webhook-id"] == second[1]["webhook-id"]
    assert int(second[1]["webhook-timestamp"]) - int(first[1]["webhook-timestamp"]) == 3600


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        (200, Told()),
        (299, Told()),
        (301, NotTold(code="redirected", status=301)),
        (400, NotTold(code="refused", status=400)),
        (404, NotTold(code="refused", status=404)),
        (410, NotTold(code="receiver_gone", status=410, for_good=True)),
        (500, NotTold(code="receiver_failed", status=500)),
        (100, NotTold(code="receiver_failed", status=100)),
        (PostFailed("timed_out"), NotTold(code="timed_out")),
        (PostFailed("not_public"), NotTold(code="not_public")),
        (
            PostAnswer(status=429, retry_after=timedelta(seconds=9)),
            NotTold(code="refused", status=429, retry_after=timedelta(seconds=9)),
        ),
    ],
)
async def test_each_answer_has_its_meaning(
    answer: int | PostAnswer | Exception, meaning: Told | NotTold
) -> None:
    assert await notifier(ScriptedPost(answer)).tell("events", POLICY, SAID) == meaning


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://elsewhere.example.com/", "host_not_allowed"),
        ("http://hooks.example.com:443/", "not_https"),
        ("https://hooks.example.com:8443/", "host_not_allowed"),
        ("https://ada@hooks.example.com/", "not_an_address"),
    ],
)
async def test_nothing_is_sent_to_an_address_that_is_not_allowed(url: str, code: str) -> None:
    post = ScriptedPost()
    policy = NotifyPolicy(url=url, secret=NOTIFY_SECRET)
    assert await notifier(post).tell("events", policy, SAID) == NotTold(code=code)
    assert post.posts == []


@pytest.mark.parametrize("environ", [{}, {NOTIFY_SECRET: ""}, {NOTIFY_SECRET: "whsec_short"}])
async def test_nothing_is_sent_unsigned_and_the_log_names_the_setting(
    environ: Mapping[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    post = ScriptedPost()
    assert await notifier(post, environ=environ).tell("events", POLICY, SAID) == NotTold(
        code="secret_unusable"
    )
    assert post.posts == []
    [record] = caplog.records
    assert NOTIFY_SECRET in record.getMessage()
    assert "whsec_short" not in record.getMessage()


async def test_a_slow_receiver_gets_few_posts_at_once_and_holds_nobody_else() -> None:
    post = ScriptedPost()
    post.gate = asyncio.Event()
    telling = notifier(post)
    waiting = [asyncio.create_task(telling.tell("events", POLICY, SAID)) for _ in range(AT_ONCE)]
    await asyncio.sleep(0)
    assert len(post.posts) == AT_ONCE
    assert await telling.tell("events", POLICY, SAID) == NoRoom()
    post.gate.set()
    assert await asyncio.gather(*waiting) == [Told()] * AT_ONCE
    assert await telling.tell("events", POLICY, SAID) == Told()


@pytest.mark.parametrize("outage", [500, 503, 408, 429, PostFailed("no_answer")])
async def test_a_receiver_that_is_away_rests(outage: int | Exception) -> None:
    post = ScriptedPost(*[outage] * FAILURES)
    telling = notifier(post)
    for _ in range(FAILURES):
        await telling.tell("events", POLICY, SAID)
    resting = await telling.tell("events", POLICY, SAID)
    assert resting == NotTold(code="receiver_resting", retry_after=timedelta(seconds=15))
    assert len(post.posts) == FAILURES


async def test_one_that_only_refuses_does_not_rest() -> None:
    post = ScriptedPost(*[400] * FAILURES)
    telling = notifier(post)
    for _ in range(FAILURES):
        await telling.tell("events", POLICY, SAID)
    assert await telling.tell("events", POLICY, SAID) == Told()


async def test_a_caller_that_is_cut_off_leaves_its_place_free() -> None:
    post = ScriptedPost()
    post.gate = asyncio.Event()
    telling = notifier(post)
    cut_off = asyncio.create_task(telling.tell("events", POLICY, SAID))
    await asyncio.sleep(0)
    cut_off.cancel()
    await asyncio.gather(cut_off, return_exceptions=True)
    waiting = [asyncio.create_task(telling.tell("events", POLICY, SAID)) for _ in range(AT_ONCE)]
    await asyncio.sleep(0)
    assert len(post.posts) == 1 + AT_ONCE
    post.gate.set()
    assert await asyncio.gather(*waiting) == [Told()] * AT_ONCE
