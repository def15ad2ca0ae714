"""Which format a document has: its first bytes decide, then its name, then the declared content type."""

from enum import StrEnum

from shared.documents.errors import DocumentUnreadable, UnsupportedFormat

HEAD_BYTES = 1024
"""A PDF header may follow other bytes within the first 1024 (PDF Reference 1.7, implementation note 13)."""


class DocumentFormat(StrEnum):
    PDF = "pdf"
    MARKDOWN = "markdown"
    TEXT = "text"


BYTE_ORDER_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""The mark, and the Python codec that reads and drops it; UTF-32 first, its mark begins with UTF-16's."""

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"II*\x00", "TIFF image"),
    (b"MM\x00*", "TIFF image"),
    (b"RIFF", "RIFF media file"),
    (b"PK\x03\x04", "ZIP container (DOCX, XLSX, ODT and EPUB are such)"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Office file of the old kind"),
    (b"\x1f\x8b", "gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"{\\rtf", "RTF document"),
    (b"%!PS", "PostScript file"),
    (b"\x7fELF", "program"),
    (b"MZ\x90\x00", "program"),
    (b"SQLite format 3\x00", "SQLite database"),
)
_MARKUP_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"<!doctype html", "HTML page"),
    (b"<html", "HTML page"),
    (b"<?xml", "XML file"),
    (b"<svg", "SVG image"),
)
_SUFFIXES: dict[str, DocumentFormat | str] = {
    "pdf": DocumentFormat.PDF,
    "md": DocumentFormat.MARKDOWN,
    "markdown": DocumentFormat.MARKDOWN,
    "mdown": DocumentFormat.MARKDOWN,
    "txt": DocumentFormat.TEXT,
    "text": DocumentFormat.TEXT,
    "html": "HTML page",
    "htm": "HTML page",
    "xhtml": "HTML page",
    "xml": "XML file",
    "svg": "SVG image",
    "json": "JSON file",
    "csv": "CSV table",
    "tsv": "TSV table",
    "rtf": "RTF document",
    "eml": "e-mail",
}
_CONTENT_TYPES: dict[str, DocumentFormat | str] = {
    "application/pdf": DocumentFormat.PDF,
    "text/markdown": DocumentFormat.MARKDOWN,
    "text/x-markdown": DocumentFormat.MARKDOWN,
    "text/html": "HTML page",
    "application/xhtml+xml": "HTML page",
    "application/xml": "XML file",
    "text/xml": "XML file",
    "image/svg+xml": "SVG image",
    "application/json": "JSON file",
    "text/csv": "CSV table",
    "text/tab-separated-values": "TSV table",
    "application/rtf": "RTF document",
    "text/rtf": "RTF document",
    "message/rfc822": "e-mail",
}
_MAX_CONTROL_SHARE = 0.01
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b")) + b"\x7f"


def detect_format(
    content: bytes, *, name: str, content_type: str | None, trusted: bool = False
) -> DocumentFormat:
    """Return the format; raise `UnsupportedFormat` naming the kind found, or `DocumentUnreadable`.

    A PDF named `.txt` is a PDF; text of unknown name and type is plain text; an empty file counts as text;
    something named a PDF that has no PDF header is a damaged one. With `trusted`, the content type was given
    by the app itself, and what it calls plain text is that, whatever it begins with.
    """
    if trusted and _media_type(content_type) == "text/plain":
        return DocumentFormat.TEXT
    head = content[:HEAD_BYTES]
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    declared = _declared(name, content_type)
    if start.startswith(b"%PDF-"):
        return DocumentFormat.PDF
    if kind := _signature(head, start):
        raise unsupported(kind)
    is_text = _is_text(content)
    if b"%PDF-" in head and (declared is DocumentFormat.PDF or not is_text):
        return DocumentFormat.PDF
    if declared is DocumentFormat.PDF:
        raise DocumentUnreadable(
            "The document is named a PDF but has no PDF header. Upload an intact copy and resubmit with it."
        )
    if not is_text:
        raise unsupported("binary file of an unknown kind")
    if isinstance(declared, str) and not isinstance(declared, DocumentFormat):
        raise unsupported(declared)
    return declared or DocumentFormat.TEXT


def unsupported(kind: str) -> UnsupportedFormat:
    """The error for a document of a kind that is not read."""
    return UnsupportedFormat(
        f"The document's format is not supported: {kind}. Supported are PDF, Markdown and plain text "
        "(UTF-8, or UTF-16 with a byte order mark). Convert it and resubmit with the copy."
    )


def _signature(head: bytes, start: bytes) -> str | None:
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if head[4:8] == b"ftyp":
        return "video or audio file"
    lowered = start[:16].lower()
    return next((kind for signature, kind in _MARKUP_STARTS if lowered.startswith(signature)), None)


def _declared(name: str, content_type: str | None) -> DocumentFormat | str | None:
    by_name = _SUFFIXES.get(_suffix(name))
    return by_name if by_name is not None else _CONTENT_TYPES.get(_media_type(content_type))


def _suffix(name: str) -> str:
    base = name.replace("\\", "/").rpartition("/")[2]
    return base.rpartition(".")[2].lower() if "." in base else ""


def _media_type(content_type: str | None) -> str:
    return (content_type or "").partition(";")[0].strip().lower()


def _is_text(content: bytes) -> bool:
    if content.startswith(tuple(mark for mark, _ in BYTE_ORDER_MARKS)):
        return True
    if b"\x00" in content:
        return False
    controls = len(content) - len(content.translate(None, _CONTROL_BYTES))
    return controls <= len(content) * _MAX_CONTROL_SHARE
