"""Real PDFs, made with reportlab and by hand, for every way a document can be."""

import io
import zlib
from collections.abc import Sequence
from functools import cache

from PIL import Image
from reportlab.lib.pdfencrypt import StandardEncryption  # type: ignore[import-untyped]  # no types
from reportlab.lib.utils import ImageReader  # type: ignore[import-untyped]  # no types
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]  # no types

LINES = (
    "The lighthouse keeper counts the ships every morning.",
    "She writes their names into a ledger bound in blue cloth.",
    "On clear days she can see the island of Farrow.",
    "When fog comes down the horn sounds twice a minute.",
    "The ledger goes to the museum at the end of each year.",
)


def text_pdf(pages: Sequence[Sequence[str]] = (LINES,), encrypt: StandardEncryption | None = None) -> bytes:
    """A PDF with one line of text below the other on each page."""
    out = io.BytesIO()
    canvas = Canvas(out, encrypt=encrypt, invariant=1)
    for lines in pages:
        for number, line in enumerate(lines):
            canvas.drawString(72, 780 - 18 * number, line)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def encrypted_pdf(*, user_password: str) -> bytes:
    """Encrypted; with an empty user password anyone may open it, and only printing is restricted."""
    return text_pdf(encrypt=StandardEncryption(user_password, ownerPassword="keeper", canPrint=0))


def scanned_pdf() -> bytes:
    """One page that is an image."""
    image = io.BytesIO()
    Image.new("RGB", (60, 60), "grey").save(image, "PNG")
    image.seek(0)
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.drawImage(ImageReader(image), 100, 500)
    canvas.showPage()
    canvas.save()
    return out.getvalue()


def pdf_of_content(*streams: bytes) -> bytes:
    """A PDF written by hand with one page for each content stream (compressed here)."""
    objects: list[bytes] = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    kids = []
    for stream in streams:
        packed = zlib.compress(stream, 9)
        head = b"<< /Length %d /Filter /FlateDecode >>" % len(packed)
        objects.append(head + b"\nstream\n" + packed + b"\nendstream")
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)


@cache
def slow_pdf() -> bytes:
    """A few kilobytes that take a parser many seconds: hundreds of thousands of text operators."""
    stream = b"BT /F1 9 Tf 50 50 Td " + b"(a) Tj " * 600_000 + b"ET"
    return pdf_of_content(stream)


def inflating_pdf(size: int) -> bytes:
    """A small PDF whose one page inflates to `size` bytes."""
    return pdf_of_content(b"BT /F1 9 Tf (" + b"a" * size + b") Tj ET")


def nested_pdf(depth: int) -> bytes:
    """A page whose content nests arrays `depth` deep."""
    return pdf_of_content(b"[" * depth + b"]" * depth + b" TJ")
