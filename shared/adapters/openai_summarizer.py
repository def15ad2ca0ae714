"""Summarizer over chat completions (https://platform.openai.com/docs/api-reference/chat/create).

A completion is safe to repeat. A long document is summarised in parts, and the parts' summaries together.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from shared.adapters.openai_client import OpenAIClient, RefusedByPolicy
from shared.ai.prompting import (
    MAX_ANSWER,
    PART,
    Prompt,
    estimated,
    parts_of,
    priced,
    prompt_for,
    read_summary,
)
from shared.ai.provider import Summary
from shared.calls.calling import ProviderCalls, Usage
from shared.calls.failures import CallFailed, Sighting, classify
from shared.pipeline.policies import PricePolicy

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

CALL_TIMEOUT = timedelta(seconds=60)
AT_ONCE = 4
_MOST_TOKENS = 100_000_000


@dataclass(frozen=True, slots=True)
class _Completion:
    """`refused`: the model's answer is a refusal, which costs like any other."""

    sentences: tuple[str, ...]
    usage: Usage | None
    refused: bool = False


@dataclass(frozen=True, slots=True)
class OpenAISummarizer:
    """Implements `Summarizer`. `part` is how many characters one call is given."""

    client: OpenAIClient
    model: str
    price: PricePolicy
    part: int = PART

    async def summarize(self, text: str, *, sentences: int, calls: ProviderCalls) -> Summary:
        """As the protocol says; what `calls` raises passes through."""
        while len(text) > self.part:
            parts = list(parts_of(text, self.part))
            text = "\n".join(await self._all(parts, sentences, calls))[: len(text) // 2]
        found = await self._one(text, sentences, calls)
        return Summary(
            text=" ".join(found),
            sentences=found,
            provider=self.client.provider,
            method="abstractive",
            label=f"Written by the model {self.model}: it can be wrong, compare it with the document.",
        )

    async def _all(self, parts: Sequence[str], sentences: int, calls: ProviderCalls) -> list[str]:
        """The summaries of all parts, a few at once; the first failure ends the others."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(part: str) -> str:
            async with slots:
                return "\n".join(await self._one(part, sentences, calls))

        try:
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(one(part)) for part in parts]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return [task.result() for task in running]

    async def _one(self, text: str, sentences: int, calls: ProviderCalls) -> tuple[str, ...]:
        prompt = prompt_for(text, sentences)
        estimate = estimated(prompt, self.price)
        completion = await calls.run(
            self.client.provider,
            lambda: self._complete(prompt, sentences),
            timeout=CALL_TIMEOUT,
            estimate=estimate,
            used=lambda found: found.usage or estimate,
        )
        if completion.refused:
            raise RefusedByPolicy(self.client.provider)
        return completion.sentences

    async def _complete(self, prompt: Prompt, sentences: int) -> _Completion:
        async def call(client: "AsyncOpenAI") -> "httpx2.Response":
            raw = await client.chat.completions.with_raw_response.create(
                model=self.model,
                messages=[
                    {"role": "system", "content": prompt.system},
                    {"role": "user", "content": prompt.text},
                ],
                max_completion_tokens=MAX_ANSWER,
            )
            return raw.http_response

        document = (await self.client.json(call)).document
        choice = _first(document.get("choices"))
        message = choice.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        reason = choice.get("finish_reason")
        usage = self._usage(document.get("usage"))
        if reason == "content_filter" or (isinstance(message, dict) and message.get("refusal")):
            return _Completion((), usage, refused=True)
        cut_off = reason == "length"
        found = read_summary(content, sentences, cut_off=cut_off) if isinstance(content, str) else ()
        if not found:
            raise self._garbled()
        return _Completion(found, usage)

    def _usage(self, usage: Any) -> Usage | None:
        """None where the service gives no figures: then the estimate counts."""
        if not isinstance(usage, dict):
            return None
        tokens_in, tokens_out = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        if tokens_in is None or tokens_out is None:
            return None
        return priced(tokens_in, tokens_out, self.price)

    def _garbled(self) -> CallFailed:
        return classify(Sighting(provider=self.client.provider, garbled=True))


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def _first(choices: Any) -> dict[str, Any]:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}
