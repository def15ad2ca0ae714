import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.documents.errors import DocumentUnreadable, UnsupportedFormat
from shared.documents.formats import DocumentFormat, detect_format
from tests.unit.shared.documents.samples import text_pdf


@pytest.mark.parametrize("name", ["plan.txt", "plan.md", "plan", "plan.docx", "plan.html"])
def test_a_pdf_is_a_pdf_whatever_its_name(name: str) -> None:
    assert detect_format(text_pdf(), name=name, content_type="text/plain") is DocumentFormat.PDF


@pytest.mark.parametrize(
    "content", [b"%PDF-1.7 begins a PDF.", b"PK\x03\x04", b"<html> is a tag.", b"MM\x00*"]
)
def test_what_the_app_itself_calls_plain_text_is_not_sniffed(content: bytes) -> None:
    kind = "text/plain; charset=utf-8"
    found = detect_format(content, name="inline", content_type=kind, trusted=True)
    assert found is DocumentFormat.TEXT


def test_any_other_type_of_the_app_s_own_is_sniffed() -> None:
    found = detect_format(text_pdf(), name="inline", content_type="application/octet-stream", trusted=True)
    assert found is DocumentFormat.PDF


def test_a_pdf_header_may_follow_junk_when_the_name_says_pdf() -> None:
    content = b"HTTP/1.1 200 OK\n\n" + text_pdf()
    assert detect_format(content, name="plan.PDF", content_type=None) is DocumentFormat.PDF


def test_text_that_mentions_a_pdf_header_is_text() -> None:
    content = b"Every PDF begins with %PDF-1.7 or another version."
    assert detect_format(content, name="notes.txt", content_type=None) is DocumentFormat.TEXT


def test_something_named_a_pdf_without_its_header_is_damaged() -> None:
    with pytest.raises(DocumentUnreadable, match="no PDF header"):
        detect_format(b"just words", name="plan.pdf", content_type=None)


@pytest.mark.parametrize(
    ("name", "content_type", "expected"),
    [
        ("readme.md", None, DocumentFormat.MARKDOWN),
        ("folder.d/README.Markdown", "text/plain", DocumentFormat.MARKDOWN),
        ("blob", "text/markdown; charset=utf-8", DocumentFormat.MARKDOWN),
        ("notes.txt", "text/html", DocumentFormat.TEXT),
        ("notes", None, DocumentFormat.TEXT),
        ("notes.xyz", "application/octet-stream", DocumentFormat.TEXT),
        ("md", None, DocumentFormat.TEXT),
    ],
)
def test_text_is_told_apart_by_extension_then_content_type(
    name: str, content_type: str | None, expected: DocumentFormat
) -> None:
    assert detect_format(b"Some words.", name=name, content_type=content_type) is expected


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "scan.pdf", "PNG image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "scan", "JPEG image"),
        (b"PK\x03\x04\x14\x00", "letter.docx", "DOCX"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "letter.doc", "Office"),
        (b"{\\rtf1 words}", "letter.txt", "RTF"),
        (b"\n <!DOCTYPE html><p>words", "page.txt", "HTML page"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>", "feed", "XML"),
        (b"\x00\x00\x00\x18ftypmp42", "film", "video"),
        (b"words", "page.htm", "HTML page"),
        (b"a,b", "table.csv", "CSV"),
        (b"\x01\x02\x03\x00words", "data.bin", "binary"),
        ("no mark".encode("utf-16-le"), "notes.txt", "binary"),
    ],
)
def test_another_format_is_refused_by_its_kind_and_with_what_is_supported(
    content: bytes, name: str, kind: str
) -> None:
    with pytest.raises(UnsupportedFormat) as caught:
        detect_format(content, name=name, content_type=None)
    assert kind in str(caught.value)
    assert "PDF, Markdown and plain text" in str(caught.value)
    assert caught.value.code == "unsupported_format"


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32"])
def test_text_with_a_byte_order_mark_is_text(codec: str) -> None:
    assert detect_format("Wörter".encode(codec), name="a.txt", content_type=None) is DocumentFormat.TEXT


@settings(deadline=None)
@given(st.binary(max_size=200), st.text(max_size=20), st.none() | st.text(max_size=20))
def test_any_bytes_and_names_give_a_format_or_a_reason(
    content: bytes, name: str, content_type: str | None
) -> None:
    try:
        found = detect_format(content, name=name, content_type=content_type)
    except (UnsupportedFormat, DocumentUnreadable):
        return
    assert found in DocumentFormat
