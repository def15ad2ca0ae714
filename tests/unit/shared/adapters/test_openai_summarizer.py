"""Summaries by a model over the real SDK, against a service that fails by script."""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from devhost.outside import Outside
from shared.adapters.openai_client import Answer, OpenAIClient, RefusedByPolicy
from shared.adapters.openai_summarizer import OpenAISummarizer
from shared.ai.prompting import MAX_ANSWER
from shared.ai.provider import Summarizer
from shared.ai.providers import ApiAddress
from shared.calls.calling import Usage
from shared.calls.failures import CallFailed, FailureKind
from shared.pipeline.policies import PricePolicy
from tests.support.providers import client_of, outside
from tests.support.task_context import DirectCalls

PRICE = PricePolicy(input_micros=1_000_000, output_micros=2_000_000)
PATH = "/v1/chat/completions"
TEXT = "The marked-word ship came in late. " * 20


@pytest.fixture(scope="module")
def shared_world() -> Iterator[Outside]:
    with outside() as world:
        yield world


@pytest.fixture
def world(shared_world: Outside) -> Outside:
    shared_world.reset()
    return shared_world


@pytest.fixture
async def client(world: Outside) -> AsyncIterator[OpenAIClient]:
    async with client_of(world.openai_url, provider="openai") as made:
        yield made


@pytest.fixture
def summarizer(client: OpenAIClient) -> Summarizer:
    return OpenAISummarizer(client, "gpt-test", PRICE)


async def test_a_summary_says_which_model_wrote_it(summarizer: Summarizer, world: Outside) -> None:
    world.script("POST", PATH, {"content": "The ship was late.\nIt came in.\nAll were glad.\nMore."})
    calls = DirectCalls()
    summary = await summarizer.summarize(TEXT, sentences=3, calls=calls)
    assert summary.sentences == ("The ship was late.", "It came in.", "All were glad.")
    assert summary.text == "The ship was late. It came in. All were glad."
    assert (summary.provider, summary.method) == ("openai", "abstractive")
    assert summary.label == "Written by the model gpt-test: it can be wrong, compare it with the document."
    assert calls.providers == ["openai"]


async def test_what_a_call_may_cost_is_reserved_and_what_it_cost_is_told(
    summarizer: Summarizer, world: Outside
) -> None:
    world.script("POST", PATH, {"usage": {"prompt_tokens": 100, "completion_tokens": 10}})
    calls = DirectCalls()
    await summarizer.summarize(TEXT, sentences=3, calls=calls)
    assert calls.used == [Usage(tokens=110, micros=120)]
    (reserved,) = calls.reserved
    assert reserved.tokens > MAX_ANSWER + len(TEXT) // 3


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": -1}, {"prompt_tokens": "many"}, {"completion_tokens": None}]
)
async def test_without_good_figures_the_estimate_counts(
    summarizer: Summarizer, world: Outside, usage: dict[str, Any]
) -> None:
    world.script("POST", PATH, {"usage": usage})
    calls = DirectCalls()
    await summarizer.summarize(TEXT, sentences=3, calls=calls)
    assert calls.used == calls.reserved


async def test_a_long_document_is_summarised_in_parts(client: OpenAIClient, world: Outside) -> None:
    text = "".join(f"Sentence number {number} of a long report.\n" for number in range(200))
    calls = DirectCalls()
    summary = await OpenAISummarizer(client, "m", PRICE, part=2_000).summarize(text, sentences=3, calls=calls)
    assert summary.sentences
    assert world.effects()["chat"].count == len(calls.used) == len(text) // 2_000 + 2


async def test_the_first_failure_of_a_part_ends_the_others(client: OpenAIClient, world: Outside) -> None:
    world.script("POST", PATH, {"status": 503, "times": 100})
    text = "A sentence of a long report.\n" * 1000
    with pytest.raises(CallFailed) as caught:
        await OpenAISummarizer(client, "m", PRICE, part=1_000).summarize(
            text, sentences=3, calls=DirectCalls()
        )
    assert caught.value.kind is FailureKind.UNAVAILABLE
    assert world.calls()[f"POST {PATH}"] < 20


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ({"status": 429, "retry_after": 2}, FailureKind.THROTTLED),
        ({"status": 500}, FailureKind.UNCLEAR),
        ({"status": 401}, FailureKind.REJECTED),
        ("cut_before", FailureKind.UNCLEAR),
        ("cut_after", FailureKind.UNCLEAR),
        ({"garbage": "not_json"}, FailureKind.UNCLEAR),
        ({"garbage": "wrong_shape"}, FailureKind.UNCLEAR),
        ({"garbage": "empty"}, FailureKind.UNCLEAR),
        ({"garbage": "huge"}, FailureKind.UNCLEAR),
        ({"content": " \n "}, FailureKind.UNCLEAR),
    ],
    ids=str,
)
async def test_a_call_that_fails_is_told_and_not_repeated(
    summarizer: Summarizer,
    world: Outside,
    caplog: pytest.LogCaptureFixture,
    step: Any,
    kind: FailureKind,
) -> None:
    caplog.set_level(logging.INFO)
    world.script("POST", PATH, step)
    with pytest.raises(CallFailed) as caught:
        await summarizer.summarize(TEXT, sentences=3, calls=DirectCalls())
    assert caught.value.kind is kind
    assert world.calls()[f"POST {PATH}"] == 1
    assert "marked-word" not in str(caught.value) + caplog.text


async def test_a_refusal_by_the_content_policy_is_for_good(summarizer: Summarizer, world: Outside) -> None:
    world.script("POST", PATH, {"status": 400, "code": "content_filter"})
    with pytest.raises(RefusedByPolicy, match="its content policy refuses this"):
        await summarizer.summarize(TEXT, sentences=3, calls=DirectCalls())


class Scripted(OpenAIClient):
    """Answers every call with `document`."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(ApiAddress(provider="openai"))
        self.document = document

    async def json(self, call: object) -> Answer:
        return Answer(self.document, {})


def completion(content: object, reason: str = "stop", **message: object) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content} | message, "finish_reason": reason}]}


async def summarized(document: dict[str, Any]) -> tuple[str, ...]:
    made = OpenAISummarizer(Scripted(document), "m", PRICE)
    return (await made.summarize(TEXT, sentences=3, calls=DirectCalls())).sentences


@pytest.mark.parametrize(
    "document", [completion("One.", "content_filter"), completion(None, refusal="I cannot do that.")]
)
async def test_a_model_that_refuses_is_told_as_a_refusal(document: dict[str, Any]) -> None:
    with pytest.raises(RefusedByPolicy) as caught:
        await summarized(document)
    assert "cannot" not in str(caught.value)


@pytest.mark.parametrize(
    ("usage", "used"),
    [({"prompt_tokens": 100, "completion_tokens": 10}, Usage(tokens=110, micros=120)), (None, None)],
)
async def test_a_refusal_costs_what_the_answer_says_or_its_estimate(
    usage: dict[str, Any] | None, used: Usage | None
) -> None:
    calls = DirectCalls()
    refusal = completion(None, refusal="I cannot do that.") | {"usage": usage}
    with pytest.raises(RefusedByPolicy):
        await OpenAISummarizer(Scripted(refusal), "m", PRICE).summarize(TEXT, sentences=3, calls=calls)
    assert calls.used == ([used] if used else calls.reserved)


async def test_an_answer_at_its_limit_loses_the_line_that_is_not_whole() -> None:
    assert await summarized(completion("One.\nTwo.\nThr", "length")) == ("One.", "Two.")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"choices": []},
        {"choices": "x"},
        {"choices": [None]},
        {"choices": [{"message": "x"}]},
        completion(None),
        completion(5),
        completion("Onl", "length"),
    ],
)
async def test_an_answer_without_a_summary_is_unclear(document: dict[str, Any]) -> None:
    with pytest.raises(CallFailed) as caught:
        await summarized(document)
    assert caught.value.kind is FailureKind.UNCLEAR
