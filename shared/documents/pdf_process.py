"""Running the PDF reading process: bounded in time, memory and output, killed and reaped however it ends."""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shared.documents.errors import (
    REASONS,
    DocumentError,
    DocumentReaderUnavailable,
    DocumentTookTooLong,
    DocumentTooLarge,
    DocumentUnreadable,
)
from shared.documents.limits import ReadLimits

APP_ROOT = Path(__file__).resolve().parents[2]
"""The folder of function_app.py; `shared` is importable from it."""
WORKER_MODULE = "shared.documents.pdf_worker"

_CHUNK = 256 * 1024
_HEAD_ROOM = 4096
_UTF8_MAX = 4
_ALARM = getattr(signal, "SIGALRM", None)
_CRASHES = {
    signal.SIGSEGV,
    signal.SIGABRT,
    signal.SIGILL,
    signal.SIGFPE,
    getattr(signal, "SIGBUS", signal.SIGSEGV),
}
# The child parses hostile bytes: it gets what Python needs to start, and none of the app settings.
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT", "TEMP", "TMP", "LANG", "LC_ALL")


@dataclass(frozen=True, slots=True)
class PdfAnswer:
    """What the process read."""

    text: str = field(repr=False)
    pages: int
    unreadable_pages: int


async def read_pdf(content: bytes, limits: ReadLimits) -> PdfAnswer:
    """Return the text of a PDF, parsed in a process of its own.

    Raises a `DocumentError`, or `DocumentReaderUnavailable` when the process did not start or was ended from
    outside (the platform short of memory, a shutdown): that may work next time. Cancelling kills the process.
    """
    process = await _start()
    try:
        async with asyncio.timeout(limits.seconds):
            answer = await _exchange(process, content, limits)
            status = await process.wait()
    except TimeoutError:
        raise DocumentTookTooLong from None
    finally:
        await _end(process)
    return _understand(answer, status)


def child_environment() -> dict[str, str]:
    """The child's whole environment: how to find Python's modules, and no secret."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    folders = [str(APP_ROOT), *(path for path in sys.path if path and Path(path).is_absolute())]
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(folders)),
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
    }


async def _start() -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-B",
            "-P",
            "-s",
            "-m",
            WORKER_MODULE,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=APP_ROOT,
            env=child_environment(),
        )
    except OSError as error:
        raise DocumentReaderUnavailable(
            f"The process that reads documents did not start: {type(error).__name__} {error.errno}."
        ) from None


async def _exchange(process: asyncio.subprocess.Process, content: bytes, limits: ReadLimits) -> bytes:
    feeding = asyncio.create_task(_feed(process, content, limits))
    try:
        return await _read_bounded(process, limits)
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)


async def _feed(process: asyncio.subprocess.Process, content: bytes, limits: ReadLimits) -> None:
    assert process.stdin is not None
    request = json.dumps({"size": len(content), **asdict(limits)}).encode() + b"\n"
    with suppress(ConnectionError):  # a child that ended early has said why, or its status does
        process.stdin.write(request)
        view = memoryview(content)
        for start in range(0, len(content), _CHUNK):
            process.stdin.write(view[start : start + _CHUNK])
            await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()


async def _read_bounded(process: asyncio.subprocess.Process, limits: ReadLimits) -> bytes:
    assert process.stdout is not None
    most = _HEAD_ROOM + _UTF8_MAX * limits.characters
    answer = bytearray()
    while chunk := await process.stdout.read(_CHUNK):
        answer += chunk
        if len(answer) > most:
            raise DocumentTooLarge
    return bytes(answer)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill what still runs, reap it, and leave no pipe open."""
    assert process.stdin is not None
    assert process.stdout is not None
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
    process.stdin.close()
    # wait() may return only once the pipes are at their end (CPython issue 119710): read away what is left.
    while await process.stdout.read(_CHUNK):
        pass
    await asyncio.shield(process.wait())


def _understand(answer: bytes, status: int) -> PdfAnswer:
    head, found, text = answer.partition(b"\n")
    if status != 0 or not found:
        raise _failure_of(status)
    fields: dict[str, Any] = json.loads(head)
    if code := fields.get("error"):
        reason: type[DocumentError] = REASONS.get(code, DocumentUnreadable)
        raise reason(fields.get("message"))
    return PdfAnswer(text.decode("utf-8"), fields["pages"], fields["unreadable_pages"])


def _failure_of(status: int) -> DocumentError | DocumentReaderUnavailable:
    """What an end without an answer means. A negative status is the signal that ended the process (POSIX)."""
    if status < 0:
        name = signal.strsignal(-status) or f"signal {-status}"
        if -status == _ALARM:
            return DocumentTookTooLong()
        if -status in _CRASHES:
            return DocumentUnreadable(
                "The document crashes the PDF parser. Export it again and resubmit with it."
            )
        return DocumentReaderUnavailable(f"The process that reads documents was ended from outside: {name}.")
    return DocumentReaderUnavailable(
        f"The process that reads documents ended with status {status}, without an answer."
    )
