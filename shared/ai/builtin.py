"""The builtin provider: offline, deterministic, without a model."""

import asyncio
from dataclasses import dataclass

from shared.ai.extractive import choose_sentences
from shared.ai.provider import Summary
from shared.calls.calling import ProviderCalls

LABEL = "Extractive summary: sentences taken from the document, no model was used."


@dataclass(frozen=True, slots=True)
class BuiltinSummarizer:
    """Implements `Summarizer` by choosing sentences of the document."""

    max_characters: int = 1_200
    """Of the whole summary; one sentence always stays."""

    async def summarize(self, text: str, *, sentences: int, calls: ProviderCalls) -> Summary:  # noqa: ARG002 - no calls
        """Choose up to `sentences` sentences, in the document's order.

        In a thread: the work is linear in a text whose length its reader bounds, and is pure Python, so the
        event loop gets its turn every few milliseconds; a process of its own would cost more than most texts
        need. Cancelling stops the waiting; the thread then runs to its near end.
        """
        chosen = await asyncio.to_thread(
            choose_sentences, text, count=sentences, max_characters=self.max_characters
        )
        return Summary(
            text=" ".join(chosen),
            sentences=tuple(chosen),
            provider="builtin",
            method="extractive",
            label=LABEL,
        )
