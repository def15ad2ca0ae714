"""Reading a document: bytes of any kind to clean text, or the one reason why not."""

import asyncio
from dataclasses import dataclass, field

from shared.documents.cleaning import clean_text
from shared.documents.errors import DocumentHasNoText, too_much_text
from shared.documents.formats import BYTE_ORDER_MARKS, DocumentFormat, detect_format
from shared.documents.limits import ReadLimits
from shared.documents.markdown import strip_markdown
from shared.documents.pdf_process import read_pdf


@dataclass(frozen=True, slots=True)
class Document:
    """A document's text and what is known of how it was read."""

    text: str = field(repr=False)
    format: DocumentFormat
    pages: int | None = None
    """Of a PDF; None for text, which has none."""
    unreadable_pages: int = 0
    encoding: str | None = None
    """How text was decoded; None for a PDF."""


@dataclass(slots=True)
class DocumentReader:
    """Reads documents; at most `concurrency` PDF processes at a time. One reader serves one event loop."""

    limits: ReadLimits = field(default_factory=ReadLimits)
    concurrency: int = 2
    _slots: asyncio.Semaphore = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.concurrency)

    async def read(
        self, content: bytes, *, name: str, content_type: str | None = None, trusted: bool = False
    ) -> Document:
        """Return the document with at least one letter or digit of text.

        Raises a `DocumentError`, or `DocumentReaderUnavailable`. A PDF's time limit starts with its
        process, not with the wait for a free one. `trusted` is for `detect_format`.
        """
        kind = await asyncio.to_thread(
            detect_format, content, name=name, content_type=content_type, trusted=trusted
        )
        if kind is DocumentFormat.PDF:
            document = await self._read_pdf(content)
        else:
            # Decoding and stripping are linear and capped, and a thread switches every few milliseconds:
            # a process would cost more than the work.
            document = await asyncio.to_thread(_read_text, content, kind, self.limits)
        if not any(character.isalnum() for character in document.text):
            raise DocumentHasNoText
        return document

    async def _read_pdf(self, content: bytes) -> Document:
        async with self._slots:
            answer = await read_pdf(content, self.limits)
        return Document(answer.text, DocumentFormat.PDF, answer.pages, answer.unreadable_pages)


def decode(content: bytes) -> tuple[str, str]:
    """Return the text and the codec used: the byte order mark's, else UTF-8, else Windows-1252.

    Windows-1252 is what text that is not UTF-8 mostly is, agreeing with Latin-1 on every printable character
    (WHATWG Encoding Standard, "windows-1252"). What a codec cannot read becomes U+FFFD.
    """
    for mark, codec in BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content.decode(codec, "replace"), codec.removesuffix("-sig")
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace"), "windows-1252"


def _read_text(content: bytes, kind: DocumentFormat, limits: ReadLimits) -> Document:
    decoded, encoding = decode(content)
    if len(decoded) > limits.characters:
        raise too_much_text(limits.characters)
    text = clean_text(decoded)
    if kind is DocumentFormat.MARKDOWN:
        text = strip_markdown(text)
    return Document(text.strip(), kind, encoding=encoding)
