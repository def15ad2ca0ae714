import json
import signal
import subprocess
import sys
from dataclasses import asdict

import pytest

from shared.documents.errors import (
    DocumentEncrypted,
    DocumentTooComplex,
    DocumentTooLarge,
    DocumentUnreadable,
)
from shared.documents.limits import ReadLimits
from shared.documents.pdf_process import APP_ROOT, WORKER_MODULE, child_environment
from shared.documents.pdf_worker import extract
from tests.unit.shared.documents.samples import (
    LINES,
    encrypted_pdf,
    inflating_pdf,
    nested_pdf,
    pdf_of_content,
    scanned_pdf,
    slow_pdf,
    text_pdf,
)


def run_worker(
    content: bytes, *, size: int | None = None, **limits: float
) -> subprocess.CompletedProcess[bytes]:
    fields = asdict(ReadLimits()) | limits | {"size": len(content) if size is None else size}
    return subprocess.run(
        [sys.executable, "-P", "-m", WORKER_MODULE],
        input=json.dumps(fields).encode() + b"\n" + content,
        capture_output=True,
        cwd=APP_ROOT,
        env=child_environment(),
        check=False,
    )


def test_the_text_of_every_page_is_read() -> None:
    found = extract(text_pdf([LINES, ["A second page."]]), ReadLimits())
    assert found.pages == 2
    assert found.unreadable_pages == 0
    assert all(line in found.text for line in (*LINES, "A second page."))


def test_a_pdf_with_a_password_is_encrypted() -> None:
    with pytest.raises(DocumentEncrypted):
        extract(encrypted_pdf(user_password="fog"), ReadLimits())


def test_a_pdf_that_only_restricts_printing_is_read() -> None:
    assert LINES[0] in extract(encrypted_pdf(user_password=""), ReadLimits()).text


def test_a_scan_has_no_text() -> None:
    assert extract(scanned_pdf(), ReadLimits()).text == ""


@pytest.mark.parametrize(
    "content",
    [b"", b"%PDF-1.7\n", b"%PDF-1.7\n" + b"\x00\xff" * 500, text_pdf()[:600]],
    ids=["empty", "header only", "noise", "cut short"],
)
def test_a_damaged_pdf_is_unreadable(content: bytes) -> None:
    with pytest.raises(DocumentUnreadable):
        extract(content, ReadLimits())


def test_a_pdf_with_a_wrong_table_of_objects_is_still_read() -> None:
    content = text_pdf()
    shifted = content.replace(b"%PDF-1.3\n", b"%PDF-1.3\n% moved everything by some bytes\n")
    assert LINES[0] in extract(shifted, ReadLimits()).text


def test_a_page_that_cannot_be_parsed_is_counted_and_costs_no_other() -> None:
    good = b"BT /F1 9 Tf 50 50 Td (Readable words) Tj ET"
    content = pdf_of_content(good, good).replace(b"/FlateDecode", b"/NoSuchCodec", 1)
    found = extract(content, ReadLimits())
    assert found.pages == 2
    assert found.unreadable_pages == 1
    assert found.text == "Readable words"


def test_more_pages_than_the_limit_are_too_large() -> None:
    with pytest.raises(DocumentTooLarge, match="3 pages; the limit is 2"):
        extract(text_pdf([["a"], ["b"], ["c"]]), ReadLimits(pages=2))


def test_more_text_than_the_limit_is_too_large() -> None:
    with pytest.raises(DocumentTooLarge, match="more than 100 characters"):
        extract(text_pdf(), ReadLimits(characters=100))


def test_a_page_that_inflates_without_end_is_too_complex() -> None:
    with pytest.raises(DocumentTooComplex):
        extract(inflating_pdf(90_000_000), ReadLimits())


def test_content_nested_without_end_is_too_complex() -> None:
    with pytest.raises(DocumentTooComplex):
        extract(nested_pdf(200_000), ReadLimits())


def test_the_process_answers_with_a_line_of_json_and_the_text() -> None:
    ended = run_worker(text_pdf())
    head, _, text = ended.stdout.partition(b"\n")
    assert ended.returncode == 0
    assert json.loads(head) == {"pages": 1, "unreadable_pages": 0}
    assert text.decode().splitlines() == list(LINES)


def test_the_process_answers_with_the_reason_why_not() -> None:
    ended = run_worker(encrypted_pdf(user_password="fog"))
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["error"] == "document_encrypted"


def test_an_incomplete_document_gets_no_answer() -> None:
    content = text_pdf()
    ended = run_worker(content[:-100], size=len(content))
    assert ended.returncode == 1
    assert ended.stdout == b""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGALRM")
def test_a_process_whose_parent_is_gone_ends_itself() -> None:
    assert run_worker(slow_pdf(), seconds=-0.5).returncode == -signal.SIGALRM


def test_the_process_loads_neither_cloud_sdks_nor_web_clients() -> None:
    code = f"import sys, {WORKER_MODULE}; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=APP_ROOT, check=True
    )
    loaded = {module.partition(".")[0] for module in ended.stdout.split()}
    assert "shared" in loaded
    assert loaded.isdisjoint({"azure", "aiohttp", "pydantic", "pypdf", "asyncio"})
