"""The seam between tasks and whoever does the AI work."""

from dataclasses import dataclass, field
from typing import Protocol

from shared.calls.calling import ProviderCalls


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, and who made it how: every result says so."""

    text: str = field(repr=False)
    sentences: tuple[str, ...] = field(repr=False)
    """The summary's sentences in their order."""
    provider: str
    method: str
    """`extractive`: sentences taken from the document; `abstractive`: written by a model."""
    label: str
    """One sentence for the reader about what this is."""


class Summarizer(Protocol):
    """Summarises text. What blocks or computes long does so off the event loop."""

    async def summarize(self, text: str, *, sentences: int, calls: ProviderCalls) -> Summary:
        """Return a summary of at most `sentences` sentences (one at least) of a text that has words.

        A model is asked through `calls`, whose errors pass through. Raises else a `TransientError` or
        `PermanentError` that quotes nothing of the text.
        """
        ...
