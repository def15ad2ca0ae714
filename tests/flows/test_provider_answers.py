"""What providers say unasked: their answers' bodies stay out of everything, their callbacks are checked."""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.data.tables import TableServiceClient
from azure.servicebus import ServiceBusClient, ServiceBusSubQueue

from devhost.outside import Outside
from devhost.outside.steps import JsonStep
from devhost.ports import free_ports
from devhost.stack import Part
from shared.callback_tokens import CallbackToken, issue
from tests.flows.driver import FAST, PATIENT_LOCK, Flow, event_id
from tests.support.outside_calls import count_of, kept_calls, listed_videos
from tests.support.stacks import flow_stack

pytestmark = pytest.mark.flows

MARK = "quokkamarmalade"
KEY = "an invented secret of enough length"
POLLS = 1_000_000
"""A video is ready when the test says so."""
CALLBACK = re.compile(r"http://127\.0\.0\.1:\d+(/api/callbacks/[\w-]{91})")


@dataclass(slots=True)
class Providers:
    flow: Flow
    outside: Outside
    happened: Path

    def ask(self, text: str) -> str:
        return self.flow.deliver_until_accepted(event_id(), {"text": f"The crane was greased. {text}."})

    def order(self, *steps: JsonStep) -> str:
        """A video; the steps are those of its creation."""
        if steps:
            self.outside.script("POST", "/v1/videos", *steps)
        return self.flow.deliver_until_accepted(event_id(), {"prompt": "A crane"}, action="video")

    def held(self, name: str) -> str:
        """A video that is begun, whose creation is not answered yet."""
        job_id = self.order({"hold": name, "after": True})
        self.outside.wait_held(name)
        return job_id

    def creations(self) -> list[dict[str, Any]]:
        """The calls that began a video, the oldest first."""
        return kept_calls(self.happened, "POST", "/v1/videos")

    def told_path(self) -> str:
        """Where the last creation says that it may be told."""
        found = CALLBACK.search(base64.b64decode(self.creations()[-1]["body"]).decode())
        assert found is not None
        return found[1]

    def call_back(self, path: str) -> int:
        return self.flow.call("POST", path, b"{}", {"Content-Type": "application/json"}).status

    def videos(self, job_id: str) -> int:
        return count_of(job_id, self.outside.effects()["video"].by_request)


@pytest.fixture(scope="module")
def providers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Providers]:
    folder = tmp_path_factory.mktemp("answers")
    pipeline, happened = folder.with_name("answers.toml"), folder.with_name("answers.jsonl")
    pipeline.write_text(_PIPELINE, encoding="utf-8")
    (port,) = free_ports(1)
    with Outside(state=happened) as outside:
        outside.configure(polls_queued=POLLS)
        settings = {
            **FAST,
            "AI_PROVIDER": "openai",
            "AI_MODEL": "a-model",
            "AI_BASE_URL": outside.openai_url,
            "AI_API_KEY": "an-invented-key",
            "PUBLIC_BASE_URL": f"http://127.0.0.1:{port}",
            "AFTERHOOK_CALLBACK_KEY": KEY,
        }
        stack = flow_stack(
            folder, lock_duration=PATIENT_LOCK, pipeline=pipeline, settings=settings, http_port=port
        )
        with stack:
            yield Providers(Flow(stack), outside, happened)


def test_an_unexpected_answer_leaves_provider_status_and_job_in_the_log_and_its_body_nowhere(
    providers: Providers,
) -> None:
    flow, outside = providers.flow, providers.outside
    chat: list[tuple[JsonStep, str, str]] = [
        (
            {"garbage": "truncated", "content": MARK * 40},
            "succeeded",
            "openai: unclear (an answer that cannot",
        ),
        ({"status": 500, "code": MARK}, "succeeded", "openai: unclear (status 500)"),
        ({"status": 422, "code": MARK}, "dead", "openai: rejected (status 422)"),
    ]
    wanted: dict[str, tuple[str, str]] = {}
    for number, (step, ends, told) in enumerate(chat):
        outside.script("POST", "/v1/chat/completions", step, match=f"Number {number}")
        wanted[providers.ask(f"Number {number}")] = ends, told
    refused = providers.order({"status": 500, "code": MARK})
    wanted[refused] = "dead", "videos: unclear (status 500)"
    flow.wait_for(f"jobs/{refused}", status="dead")
    outside.script("GET", "/v1/videos/*", {"status": 401, "code": MARK})
    wanted[providers.order()] = "dead", "videos: rejected (status 401)"
    for job_id, (ends, _) in wanted.items():
        flow.wait_for(f"jobs/{job_id}", status=ends)
        if ends == "dead":
            flow.wait_until(lambda job_id=job_id: bool(flow.cases(job_id)), "the case is filed")  # type: ignore[misc]
    assert outside.scripts_left() == 0
    log = flow.stack.log(Part.HOST).read_text()
    for job_id, (_, told) in wanted.items():
        assert f"a call of {job_id} failed: {told}" in log
    places = {
        "logs": log + flow.stack.log(Part.BROKER).read_text(),
        "tables": _rows(flow),
        "messages": _messages(flow),
        "answers": repr([flow.get(f"jobs/{job_id}") for job_id in wanted]),
        "cases": repr([flow.get(f"dead-letters/{job_id}") for job_id in wanted]),
    }
    assert [place for place, content in places.items() if MARK in content] == []
    assert all(job_id in places["tables"] for job_id in wanted)


def _rows(flow: Flow) -> str:
    with TableServiceClient.from_connection_string(flow.stack.storage) as service:
        names = [table.name for table in service.list_tables()]
        return repr({name: list(service.get_table_client(name).list_entities()) for name in names})


def _messages(flow: Flow) -> str:
    found = []
    with ServiceBusClient.from_connection_string(flow.stack.servicebus) as client:
        for sub_queue in (None, ServiceBusSubQueue.DEAD_LETTER):
            with client.get_queue_receiver("ai-jobs", sub_queue=sub_queue) as receiver:
                found += [(str(m), m.application_properties) for m in receiver.peek_messages(100)]
    return repr(found)


def test_a_callback_without_a_valid_token_changes_nothing(providers: Providers) -> None:
    job_id = providers.order()
    before = providers.flow.wait_for(f"jobs/{job_id}", status="awaiting_result")
    path = providers.told_path()
    later, past = (datetime.now(UTC) + timedelta(hours=hours) for hours in (1, -1))
    other = "job_" + "a" * 26
    refused = {
        path[:-1] + ("A" if path[-1] != "A" else "E"): 401,
        path[:20] + ("A" if path[20] != "A" else "E") + path[21:]: 401,
        path + "A": 401,
        path[:-1]: 401,
        f"/api/callbacks/{_token(job_id, later, 'another secret of enough length')}": 401,
        f"/api/callbacks/{_token(job_id, past, KEY)}": 401,
        f"/api/callbacks/{_token(other, later, KEY)}": 404,
        f"/api/callbacks/{_token(job_id, later, KEY, release=7)}": 404,
    }
    assert {asked: providers.call_back(asked) for asked in refused} == refused
    assert providers.flow.get(f"jobs/{job_id}").document == before
    assert path.rpartition("/")[2] not in providers.flow.stack.log(Part.HOST).read_text()
    assert providers.videos(job_id) == 1


def _token(job_id: str, expires_at: datetime, secret: str, release: int = 0) -> str:
    return issue(CallbackToken(job_id=job_id, release=release, expires_at=expires_at), secret.encode())


def test_a_callback_before_its_submit_was_recorded_is_refused_and_the_next_one_ends_the_wait(
    providers: Providers,
) -> None:
    job_id = providers.held("early")
    path = providers.told_path()
    assert providers.call_back(path) == 503
    providers.outside.release("early")
    providers.flow.wait_for(f"jobs/{job_id}", status="awaiting_result")
    providers.outside.finish_video(listed_videos(providers.outside)[0]["id"])
    job = providers.flow.wait_for(f"jobs/{job_id}", status="succeeded")
    assert [row["event"] for row in job["timeline"]].count("called_back") == 1
    assert providers.videos(job_id) == 1


def test_a_provider_that_calls_back_before_it_answers_is_asked_to_come_again(providers: Providers) -> None:
    job_id = providers.order({"callback_first": True})
    job = providers.flow.wait_for(f"jobs/{job_id}", status="succeeded")
    path = providers.told_path()

    def told() -> list[int]:
        return [post["status"] for post in providers.outside.posts() if post["url"].endswith(path)]

    providers.flow.wait_until(lambda: told()[-1:] == [200], "the provider came again and was heard")
    assert told()[0] == 503
    assert providers.videos(job_id) == 1
    assert [row["event"] for row in job["timeline"]].count("succeeded") == 1


_PIPELINE = """
[sources.github]
scheme = "github"
secrets = ["GITHUB_WEBHOOK_SECRET"]

[[sources.github.routes]]
event = "repository_dispatch.note"
task = "summarize_document"
input = "client_payload.text"

[[sources.github.routes]]
event = "repository_dispatch.video"
task = "generate_video"
input = "{prompt: client_payload.prompt}"

[tasks.summarize_document.retry]
attempts = 3
backoff = ["1s"]

[tasks.generate_video]
attempt_timeout = "3m"
pass_callback_url = true

[tasks.generate_video.poll]
deadline = "3h"
backoff = ["1h"]
"""
