import asyncio

import pytest

from shared.documents import reader as reader_module
from shared.documents.errors import DocumentHasNoText, DocumentTooLarge, UnsupportedFormat
from shared.documents.formats import DocumentFormat
from shared.documents.limits import ReadLimits
from shared.documents.pdf_process import PdfAnswer
from shared.documents.reader import Document, DocumentReader, decode
from tests.unit.shared.documents.samples import LINES, scanned_pdf, text_pdf


async def test_a_pdf_is_read_with_its_pages() -> None:
    document = await DocumentReader().read(text_pdf([LINES, LINES]), name="ships.txt")
    assert document.format is DocumentFormat.PDF
    assert document.pages == 2
    assert document.text.startswith(LINES[0])


async def test_markdown_is_read_without_its_marks() -> None:
    document = await DocumentReader().read(b"# Ships\n\nThe **blue** one.", name="ships.md")
    assert document == Document("Ships\n\nThe blue one.", DocumentFormat.MARKDOWN, encoding="utf-8")


async def test_text_keeps_what_would_be_marks_in_markdown() -> None:
    document = await DocumentReader().read(b"# The **blue** one.\r\n", name="ships.txt")
    assert document == Document("# The **blue** one.", DocumentFormat.TEXT, encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"", "empty.txt"),
        (b" \n\t", "blank.txt"),
        (b"--- *** ...", "marks.txt"),
        (b"```\ncode\n```", "code.md"),
        (scanned_pdf(), "scan.pdf"),
    ],
)
async def test_a_document_without_a_word_has_no_text(content: bytes, name: str) -> None:
    with pytest.raises(DocumentHasNoText):
        await DocumentReader().read(content, name=name)


async def test_an_unsupported_format_is_refused_before_it_is_read() -> None:
    with pytest.raises(UnsupportedFormat):
        await DocumentReader().read(b"\x89PNG\r\n\x1a\n", name="scan.pdf")


async def test_text_over_the_limit_is_too_large_and_not_cut() -> None:
    reader = DocumentReader(ReadLimits(characters=10))
    assert (await reader.read(b"ten chars.", name="a.txt")).text == "ten chars."
    with pytest.raises(DocumentTooLarge, match="more than 10 characters"):
        await reader.read(b"ten chars. ", name="a.txt")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Möwe €".encode(), ("Möwe €", "utf-8")),
        ("Möwe €".encode("utf-8-sig"), ("Möwe €", "utf-8")),
        ("Möwe €".encode("utf-16"), ("Möwe €", "utf-16")),
        (b"\xfe\xff" + "Möwe €".encode("utf-16-be"), ("Möwe €", "utf-16")),
        ("Möwe €".encode("utf-32"), ("Möwe €", "utf-32")),
        ("Möwe €".encode("cp1252"), ("Möwe €", "windows-1252")),
        ("Möwe".encode("latin-1"), ("Möwe", "windows-1252")),
        (b"M\x81we\xf6", ("M\ufffdweö", "windows-1252")),
        (b"\xff\xfeM", ("\ufffd", "utf-16")),
    ],
)
def test_text_is_decoded_by_its_mark_then_as_utf_8_then_as_windows_1252(
    content: bytes, expected: tuple[str, str]
) -> None:
    assert decode(content) == expected


async def test_only_so_many_processes_run_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    running = most = 0
    may_end = asyncio.Event()

    async def read_pdf(content: bytes, limits: ReadLimits) -> PdfAnswer:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            may_end.set()
        await may_end.wait()
        running -= 1
        return PdfAnswer("words", 1, 0)

    monkeypatch.setattr(reader_module, "read_pdf", read_pdf)
    reader = DocumentReader(concurrency=2)
    documents = await asyncio.gather(*(reader.read(b"%PDF-1.7", name="a.pdf") for _ in range(6)))
    assert len(documents) == 6
    assert most == 2
