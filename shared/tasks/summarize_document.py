"""`summarize_document`: the text of a PDF, Markdown or plain text document, summarised by the AI provider."""

import asyncio
import hashlib
import json
from dataclasses import dataclass
from typing import Any, ClassVar

from shared.ai.provider import Summarizer, Summary
from shared.documents.errors import DocumentTooLarge
from shared.documents.reader import Document, DocumentReader
from shared.tasks.base import TaskContext, TaskInput, TaskResult


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizeLimits:
    """Policy of the task."""

    max_document_bytes: int = 25 * 1024 * 1024
    max_sentences: int = 5


@dataclass(frozen=True, slots=True)
class SummarizeDocument:
    """Implements `Task`."""

    reader: DocumentReader
    summarizer: Summarizer
    limits: SummarizeLimits

    name: ClassVar[str] = "summarize_document"

    @property
    def max_input_bytes(self) -> int:
        return self.limits.max_document_bytes

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult:
        """Return the summary as JSON: `task_type provider method label summary sentences document`.

        Raises a `DocumentError` or `DocumentReaderUnavailable` for the document, or the summarizer's error;
        what `context.calls` raises passes through.
        """
        check_size(max(task_input.size, len(task_input.content)), self.limits.max_document_bytes)
        document = await self.reader.read(
            task_input.content,
            name=task_input.name,
            content_type=task_input.content_type,
            trusted=task_input.own,
        )
        summary = await self.summarizer.summarize(
            document.text, sentences=self.limits.max_sentences, calls=context.calls
        )
        digest = await asyncio.to_thread(lambda: hashlib.sha256(task_input.content).hexdigest())
        result = _result(document, summary, digest)
        return TaskResult(json.dumps(result, ensure_ascii=False).encode("utf-8"), "application/json")


def check_size(size: int, limit: int) -> None:
    """Raise `DocumentTooLarge` for a document of `size` bytes over `limit`."""
    if size > limit:
        raise DocumentTooLarge(
            f"The document has {size:,} bytes; the limit is {limit:,}. Upload a smaller one and resubmit."
        )


def _result(document: Document, summary: Summary, digest: str) -> dict[str, Any]:
    about: dict[str, Any] = {"format": document.format.value}
    if document.pages is not None:
        about |= {"pages": document.pages, "unreadable_pages": document.unreadable_pages}
    if document.encoding is not None:
        about["encoding"] = document.encoding
    return {
        "task_type": SummarizeDocument.name,
        "provider": summary.provider,
        "method": summary.method,
        "label": summary.label,
        "summary": summary.text,
        "sentences": list(summary.sentences),
        "document": about | {"characters": len(document.text), "sha256": digest},
    }
