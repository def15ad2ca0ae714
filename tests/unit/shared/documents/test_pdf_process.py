import asyncio
import logging
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.documents import pdf_process
from shared.documents.errors import (
    DocumentEncrypted,
    DocumentError,
    DocumentReaderUnavailable,
    DocumentTooComplex,
    DocumentTookTooLong,
    DocumentTooLarge,
    DocumentUnreadable,
)
from shared.documents.limits import MIB, ReadLimits
from shared.documents.pdf_process import read_pdf
from tests.unit.shared.documents.samples import LINES, encrypted_pdf, inflating_pdf, slow_pdf, text_pdf


class Started(list[asyncio.subprocess.Process]):
    """The processes started so far; `first()` waits for one."""

    def __init__(self) -> None:
        super().__init__()
        self._any = asyncio.Event()

    def add(self, process: asyncio.subprocess.Process) -> None:
        self.append(process)
        self._any.set()

    async def first(self) -> asyncio.subprocess.Process:
        await asyncio.wait_for(self._any.wait(), 60)
        return self[0]


@pytest.fixture(name="started")
def _started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """Every process the reader starts; none may be left when the test ends."""
    started = Started()
    real = asyncio.create_subprocess_exec

    async def record(*args: Any, **kwargs: Any) -> asyncio.subprocess.Process:
        process = await real(*args, **kwargs)
        started.add(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", record)
    yield started
    for process in started:
        assert process.returncode is not None
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


@pytest.fixture(name="worker")
def _worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Runs other code in the reading process's place."""

    def replace(code: str) -> None:
        (tmp_path / "other_worker.py").write_text(code)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(pdf_process, "WORKER_MODULE", "other_worker")

    return replace


async def test_the_text_comes_back_from_the_process(started: Started) -> None:
    answer = await read_pdf(text_pdf(), ReadLimits())
    assert answer.text.splitlines() == list(LINES)
    assert (answer.pages, answer.unreadable_pages) == (1, 0)
    assert [process.returncode for process in started] == [0]


async def test_the_reason_comes_back_from_the_process(started: Started) -> None:
    with pytest.raises(DocumentEncrypted, match="without a password"):
        await read_pdf(encrypted_pdf(user_password="fog"), ReadLimits())
    assert len(started) == 1


async def test_a_process_over_its_time_is_killed(started: Started) -> None:
    with pytest.raises(DocumentTookTooLong):
        await read_pdf(slow_pdf(), ReadLimits(seconds=0.5))
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="memory is bounded by setrlimit, which is POSIX")
async def test_a_document_over_its_memory_is_too_complex(started: Started) -> None:
    with pytest.raises(DocumentTooComplex):
        await read_pdf(inflating_pdf(60_000_000), ReadLimits(seconds=150, memory_bytes=160 * MIB))
    assert len(started) == 1


async def test_a_cancelled_reading_kills_its_process(started: Started) -> None:
    reading = asyncio.create_task(read_pdf(slow_pdf(), ReadLimits()))
    process = await started.first()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert process.returncode == -signal.SIGKILL


async def test_a_process_ended_from_outside_may_work_next_time(started: Started) -> None:
    reading = asyncio.create_task(read_pdf(slow_pdf(), ReadLimits()))
    (await started.first()).send_signal(signal.SIGKILL)
    with pytest.raises(DocumentReaderUnavailable, match="from outside: Killed"):
        await reading


async def test_a_crash_of_the_parser_is_the_documents_fault(
    started: Started, worker: Callable[[str], None]
) -> None:
    worker("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(DocumentUnreadable, match="crashes the PDF parser"):
        await read_pdf(text_pdf(), ReadLimits())
    assert started[0].returncode == -signal.SIGSEGV


async def test_a_process_without_an_answer_may_work_next_time(
    started: Started, worker: Callable[[str], None]
) -> None:
    worker("raise SystemExit(3)")
    with pytest.raises(DocumentReaderUnavailable, match="status 3"):
        await read_pdf(b"x" * MIB, ReadLimits())
    assert len(started) == 1


async def test_an_answer_without_end_is_cut_off(started: Started, worker: Callable[[str], None]) -> None:
    worker("import os\nwhile True: os.write(1, b'x' * 65536)")
    with pytest.raises(DocumentTooLarge):
        await read_pdf(text_pdf(), ReadLimits(characters=1_000))
    assert started[0].returncode == -signal.SIGKILL


async def test_a_process_that_does_not_read_is_killed_in_time(
    started: Started, worker: Callable[[str], None]
) -> None:
    worker("import time; time.sleep(600)")
    with pytest.raises(DocumentTookTooLong):
        await read_pdf(b"x" * 4 * MIB, ReadLimits(seconds=0.3))
    assert started[0].returncode == -signal.SIGKILL


async def test_a_process_that_cannot_start_may_work_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(DocumentReaderUnavailable, match="did not start: FileNotFoundError"):
        await read_pdf(text_pdf(), ReadLimits())


async def test_the_process_gets_no_app_setting(
    monkeypatch: pytest.MonkeyPatch, started: Started, worker: Callable[[str], None]
) -> None:
    monkeypatch.setenv("AzureWebJobsStorage", "AccountKey=marked-secret")
    worker(
        "import os, sys\n"
        "sys.stdin.read()\n"
        'print(\'{"pages": 1, "unreadable_pages": 0}\')\n'
        "print(os.environ)\n"
    )
    answer = await read_pdf(b"x", ReadLimits())
    assert "PYTHONPATH" in answer.text
    assert "AzureWebJobsStorage" not in answer.text
    assert "marked-secret" not in answer.text
    assert len(started) == 1


async def test_nothing_of_a_document_reaches_errors_or_logs(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    damaged = b"%PDF-1.7\n1 0 obj\n<< /Type /marked-words (marked-words >>\nendobj\n" + b"marked-words " * 50
    with pytest.raises(DocumentUnreadable) as caught:
        await read_pdf(damaged, ReadLimits())
    written = capfd.readouterr()
    assert "marked-words" not in f"{caught.value!r} {caplog.text} {written.out} {written.err}"


@pytest.mark.fuzz
async def test_a_pdf_with_any_bytes_changed_gives_text_or_a_reason() -> None:
    chance = random.Random(20_270_101)
    original = text_pdf([LINES, LINES])

    async def read_changed() -> None:
        changed = bytearray(original)
        for _ in range(chance.randint(1, 40)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        try:
            await read_pdf(bytes(changed), ReadLimits(seconds=20))
        except DocumentError:
            return

    for _ in range(6):
        await asyncio.gather(read_changed(), read_changed())
