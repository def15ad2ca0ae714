import subprocess
import sys

import pytest

from shared.documents.limits import MIB, ReadLimits
from shared.documents.pdf_process import APP_ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="setrlimit is POSIX")

PRELUDE = """
from shared.documents.limits import ReadLimits, confine_this_process
confine_this_process(ReadLimits(seconds={seconds}, memory_bytes={memory}))
"""


def confined(
    code: str, *, seconds: float = 60.0, memory: int = 512 * MIB
) -> subprocess.CompletedProcess[str]:
    program = PRELUDE.format(seconds=seconds, memory=memory) + code
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=APP_ROOT, check=False
    )


def test_a_confined_process_runs_out_of_memory_at_the_limit() -> None:
    ended = confined("held = bytearray(200 * 1024 * 1024)", memory=128 * MIB)
    assert ended.returncode == 1
    assert "MemoryError" in ended.stderr


def test_a_confined_process_may_use_memory_below_the_limit() -> None:
    assert confined("held = bytearray(64 * 1024 * 1024)", memory=256 * MIB).returncode == 0


def test_a_confined_process_ends_itself_when_nobody_kills_it() -> None:
    import signal

    assert confined("while True: pass", seconds=-1.8).returncode == -signal.SIGALRM


def test_a_confined_process_cannot_write_a_file(tmp_path: object) -> None:
    ended = confined(f"import pathlib; pathlib.Path({str(tmp_path)!r}, 'out').write_text('words')")
    assert ended.returncode == 1
    assert "File too large" in ended.stderr


def test_the_defaults_hold_for_an_ordinary_report() -> None:
    limits = ReadLimits()
    assert limits.seconds >= 30
    assert limits.memory_bytes >= 256 * MIB
    assert limits.pages >= 500
