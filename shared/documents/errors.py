"""Why a document could not be used: one permanent error a reason, each saying what to do.

No text here names anything from inside a document; sizes, limits and formats only.
"""

from typing import ClassVar

from shared.errors import PermanentError, TransientError


class DocumentError(PermanentError):
    """The document cannot be used as it is."""

    code: ClassVar[str] = "document_unusable"


class DocumentMissing(DocumentError):
    """There is no document at the input reference. Upload it, or resubmit with the right reference."""

    code: ClassVar[str] = "document_missing"


class DocumentNotAllowed(DocumentError):
    """The input reference lies outside what this source or user may read. Resubmit with an allowed one."""

    code: ClassVar[str] = "document_not_allowed"


class UnsupportedFormat(DocumentError):
    """The format is not supported. Convert the document to PDF, Markdown or text and resubmit with it."""

    code: ClassVar[str] = "unsupported_format"


class DocumentEncrypted(DocumentError):
    """The PDF is encrypted. Upload a copy without a password and resubmit with it."""

    code: ClassVar[str] = "document_encrypted"


class DocumentHasNoText(DocumentError):
    """The document has no text, as a scan has none. Upload a copy with a text layer and resubmit with it."""

    code: ClassVar[str] = "document_has_no_text"


class DocumentTooLarge(DocumentError):
    """The document is larger than the limit. Upload a shorter one and resubmit with it."""

    code: ClassVar[str] = "document_too_large"


class DocumentUnreadable(DocumentError):
    """The document is damaged. Upload an intact copy and resubmit with it."""

    code: ClassVar[str] = "document_unreadable"


class DocumentTookTooLong(DocumentError):
    """Reading the document took longer than the time limit. Export it again, or split it, and resubmit."""

    code: ClassVar[str] = "document_took_too_long"


class DocumentTooComplex(DocumentError):
    """Reading the document needs more memory or nesting than allowed. Split it and resubmit with a part."""

    code: ClassVar[str] = "document_too_complex"


class DocumentReaderUnavailable(TransientError):
    """The process that reads documents did not start, or ended without an answer."""

    code: ClassVar[str] = "document_reader_unavailable"


def too_much_text(limit: int) -> DocumentTooLarge:
    """The error for a document with more than `limit` characters."""
    return DocumentTooLarge(
        f"The document has more than {limit:,} characters of text. Split it and resubmit with a part."
    )


REASONS: dict[str, type[DocumentError]] = {
    reason.code: reason
    for reason in (
        DocumentMissing,
        DocumentNotAllowed,
        UnsupportedFormat,
        DocumentEncrypted,
        DocumentHasNoText,
        DocumentTooLarge,
        DocumentUnreadable,
        DocumentTookTooLong,
        DocumentTooComplex,
    )
}
"""By code: how the reading process names a failure."""
