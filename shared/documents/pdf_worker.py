"""The child process that parses one PDF: `python -m shared.documents.pdf_worker`.

Standard input: one line of JSON (`size` in bytes, the fields of `ReadLimits`), then the document.
Standard output: one line of JSON, then the text as UTF-8. The line is `{"pages", "unreadable_pages"}`, or
`{"error": code}` or `{"error": code, "message": ...}` with a code of `shared.documents.errors`.
An incomplete input (the parent died) ends the process without an answer. Standard error goes nowhere: what a
parser writes there may quote the document.
"""

import io
import json
import sys
from dataclasses import dataclass, field, fields
from typing import Any

from shared.documents.cleaning import join_pages
from shared.documents.errors import (
    DocumentEncrypted,
    DocumentError,
    DocumentTooComplex,
    DocumentTooLarge,
    DocumentUnreadable,
    too_much_text,
)
from shared.documents.limits import ReadLimits, confine_this_process


@dataclass(frozen=True, slots=True)
class PdfText:
    """What was read: the text of all pages, and how many of them could not be read."""

    text: str = field(repr=False)
    pages: int
    unreadable_pages: int


def extract(content: bytes, limits: ReadLimits) -> PdfText:
    """Return the text of a PDF. Unbounded but for the counts in `limits`: run it in a confined process.

    Raises a `DocumentError`. A page that cannot be parsed is counted; when none can, it is unreadable.
    """
    from pypdf.errors import LimitReachedError

    try:
        return _extract(content, limits)
    except DocumentError:
        raise
    except (MemoryError, RecursionError, LimitReachedError):
        raise DocumentTooComplex from None
    except Exception:  # noqa: BLE001 - whatever a parser raises on hostile bytes, the document is at fault
        raise DocumentUnreadable from None


def _extract(content: bytes, limits: ReadLimits) -> PdfText:
    reader = _open(content)
    count = len(reader.pages)
    if count > limits.pages:
        raise DocumentTooLarge(
            f"The PDF has {count} pages; the limit is {limits.pages}. Split it and resubmit with a part."
        )
    texts: list[str] = []
    unreadable = characters = 0
    for page in reader.pages:
        text = _page_text(page)
        if text is None:
            unreadable += 1
            continue
        characters += len(text)
        if characters > limits.characters:
            raise too_much_text(limits.characters)
        texts.append(text)
    if unreadable == count:
        raise DocumentUnreadable
    return PdfText(join_pages(texts), count, unreadable)


def _open(content: bytes) -> Any:
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    try:
        reader = PdfReader(io.BytesIO(content))
        # A PDF that only restricts printing or copying opens with the empty password.
        if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
            raise DocumentEncrypted
    except (FileNotDecryptedError, DependencyError, NotImplementedError):
        raise DocumentEncrypted from None
    return reader


def _page_text(page: Any) -> str | None:
    from pypdf.errors import LimitReachedError

    try:
        text: str = page.extract_text()
    except (MemoryError, RecursionError, LimitReachedError):
        raise
    except Exception:  # noqa: BLE001 - one broken page does not cost the others
        return None
    return text


def main() -> int:
    """Read the request, answer it; 0 when there was an answer."""
    source, out = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a stray print of a library must not become part of the answer
    request: dict[str, Any] = json.loads(source.readline())
    limits = ReadLimits(**{limit.name: request[limit.name] for limit in fields(ReadLimits)})
    import pypdf  # noqa: F401 - loaded before files and memory are denied

    confine_this_process(limits)
    content = source.read(request["size"])
    if len(content) != request["size"]:
        return 1
    body = b""
    try:
        result = extract(content, limits)
        head: dict[str, Any] = {"pages": result.pages, "unreadable_pages": result.unreadable_pages}
        body = result.text.encode("utf-8")
    except DocumentError as error:
        head = {"error": error.code, "message": str(error)}
    except MemoryError:
        head = {"error": DocumentTooComplex.code}
    out.write(json.dumps(head).encode("utf-8") + b"\n" + body)
    out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
