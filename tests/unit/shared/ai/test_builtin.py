import threading

import pytest

from shared.ai import builtin
from shared.ai.builtin import BuiltinSummarizer
from shared.ai.provider import Summarizer
from tests.support.task_context import DirectCalls
from tests.unit.shared.ai.samples import BEES


async def test_a_summary_says_who_made_it_and_how() -> None:
    summarizer: Summarizer = BuiltinSummarizer()
    summary = await summarizer.summarize(BEES, sentences=3, calls=DirectCalls())
    assert (summary.provider, summary.method) == ("builtin", "extractive")
    assert summary.label == "Extractive summary: sentences taken from the document, no model was used."
    assert len(summary.sentences) == 3
    assert summary.text == " ".join(summary.sentences)


async def test_a_summary_stays_within_the_characters_given() -> None:
    summary = await BuiltinSummarizer(max_characters=250).summarize(BEES, sentences=9, calls=DirectCalls())
    assert 0 < len(summary.text) <= 250


async def test_the_event_loop_does_not_do_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[threading.Thread] = []

    def choose_sentences(text: str, *, count: int, max_characters: int) -> list[str]:
        used.append(threading.current_thread())
        return [text]

    monkeypatch.setattr(builtin, "choose_sentences", choose_sentences)
    await BuiltinSummarizer().summarize("Words.", sentences=1, calls=DirectCalls())
    assert used
    assert threading.current_thread() not in used
