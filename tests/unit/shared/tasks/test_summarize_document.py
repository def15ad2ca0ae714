import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from shared.ai.builtin import BuiltinSummarizer
from shared.documents.errors import (
    DocumentEncrypted,
    DocumentError,
    DocumentHasNoText,
    DocumentTooLarge,
    DocumentUnreadable,
    UnsupportedFormat,
)
from shared.documents.reader import DocumentReader
from shared.tasks.base import TaskInput
from shared.tasks.summarize_document import SummarizeDocument, SummarizeLimits
from tests.support.task_context import DirectCalls, a_context
from tests.unit.shared.ai.samples import BEES, RAILWAY
from tests.unit.shared.documents.samples import LINES, encrypted_pdf, scanned_pdf, text_pdf

TOUR = Path(__file__).parents[4] / "devhost" / "tour"


def task(**limits: int) -> SummarizeDocument:
    return SummarizeDocument(DocumentReader(), BuiltinSummarizer(), SummarizeLimits(**limits))


def an_input(content: bytes, name: str = "document", content_type: str | None = None) -> TaskInput:
    return TaskInput("inputs/x", name, len(content), content_type, content)


async def summarize(content: bytes, name: str = "document", **limits: int) -> dict[str, Any]:
    result = await task(**limits).run(an_input(content, name), a_context())
    assert result.content_type == "application/json"
    found: dict[str, Any] = json.loads(result.content)
    return found


async def test_a_pdf_is_summarised_in_its_own_words() -> None:
    content = (TOUR / "harbour-plan.pdf").read_bytes()
    result = await summarize(content, "harbour-plan.pdf")
    plan = " ".join((TOUR / "harbour-plan.md").read_text("utf-8").split())
    assert len(result["sentences"]) == 5
    assert all(sentence in plan for sentence in result["sentences"])
    assert "quay" in result["summary"]
    assert "channel" in result["summary"]
    assert "crowns" in result["summary"]
    assert "Page" not in result["summary"]


async def test_a_note_that_begins_like_a_pdf_is_a_note() -> None:
    note = b"%PDF-1.7 is what the export should begin with. The crane lifts twelve tonnes."
    given = TaskInput("inline/x", "inline", len(note), "text/plain; charset=utf-8", note, own=True)
    result = json.loads((await task().run(given, a_context())).content)
    assert "crane" in result["summary"]
    assert result["document"]["format"] == "text"


async def test_the_result_is_labelled_and_says_what_was_read() -> None:
    content = text_pdf([LINES, LINES])
    result = await summarize(content)
    assert list(result) == ["task_type", "provider", "method", "label", "summary", "sentences", "document"]
    assert result["task_type"] == "summarize_document"
    assert (result["provider"], result["method"]) == ("builtin", "extractive")
    assert "no model was used" in result["label"]
    assert result["summary"] == " ".join(result["sentences"])
    assert result["document"] == {
        "format": "pdf",
        "pages": 2,
        "unreadable_pages": 0,
        "characters": 2 * sum(map(len, LINES)) + 2 * len(LINES) - 1,
        "sha256": hashlib.sha256(content).hexdigest(),
    }


async def test_text_has_an_encoding_and_no_pages() -> None:
    result = await summarize(BEES.encode("utf-16"), "bees.txt")
    assert result["document"]["format"] == "text"
    assert result["document"]["encoding"] == "utf-16"
    assert "pages" not in result["document"]


async def test_different_documents_have_different_summaries() -> None:
    bees = await summarize(BEES.encode(), "a.txt")
    railway = await summarize(RAILWAY.encode(), "b.md")
    assert "roof" in bees["summary"]
    assert "night train" in railway["summary"]
    assert set(bees["sentences"]).isdisjoint(railway["sentences"])


async def test_the_same_document_gives_the_same_bytes() -> None:
    context = a_context()
    once = await task().run(an_input(BEES.encode()), context)
    assert await task().run(an_input(BEES.encode()), context) == once


async def test_the_policy_sets_the_number_of_sentences() -> None:
    assert len((await summarize(BEES.encode(), max_sentences=2))["sentences"]) == 2


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        ((TOUR / "harbour-plan.png").read_bytes(), "harbour-plan.png", UnsupportedFormat),
        (encrypted_pdf(user_password="fog"), "a.pdf", DocumentEncrypted),
        (scanned_pdf(), "a.pdf", DocumentHasNoText),
        (text_pdf()[:500], "a.pdf", DocumentUnreadable),
        (b"", "a.txt", DocumentHasNoText),
    ],
)
async def test_an_unfit_document_fails_for_good_with_its_own_reason(
    content: bytes, name: str, reason: type[DocumentError]
) -> None:
    with pytest.raises(reason) as caught:
        await summarize(content, name)
    assert "resubmit" in str(caught.value)


async def test_a_document_over_the_limit_is_refused_with_both_sizes() -> None:
    with pytest.raises(DocumentTooLarge, match="1,001 bytes; the limit is 1,000"):
        await summarize(b"x" * 1_001, max_document_bytes=1_000)


async def test_a_size_known_before_the_content_counts_too() -> None:
    declared = TaskInput("inputs/x", "a.txt", 5_000, None, b"short")
    with pytest.raises(DocumentTooLarge):
        await task(max_document_bytes=1_000).run(declared, a_context())


def test_the_worker_can_ask_for_the_limit() -> None:
    assert task(max_document_bytes=1_000).max_input_bytes == 1_000


async def test_showing_inputs_and_results_shows_nothing_of_a_document() -> None:
    given = an_input(b"The marked-words stand here for all to see.", "marked-name.txt")
    document = await DocumentReader().read(given.content, name=given.name)
    summary = await BuiltinSummarizer().summarize(document.text, sentences=1, calls=DirectCalls())
    result = await task().run(given, a_context())
    assert b"marked-words" in result.content
    assert "marked-" not in repr((given, document, summary, result))


async def test_nothing_of_a_document_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await summarize(text_pdf([["The marked-words stand here for all to see."]]), "marked-name.pdf")
    assert "marked-" not in caplog.text
