"""CPU time and memory of a real process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devhost.bench.processes import cpu_seconds, peak_bytes, reset_peak, resident_bytes

MIB = 1024 * 1024
WORK = """
import sys, time
for line in sys.stdin:
    if line.strip() == "compute":
        until = time.process_time() + 0.3
        while time.process_time() < until: pass
    else:
        held = bytearray(b"x") * (64 * 1024 * 1024)
        del held
    print("done", flush=True)
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")


@pytest.fixture
def worker() -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def order(worker: "subprocess.Popen[str]", work: str) -> None:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{work}\n")
    worker.stdin.flush()
    assert worker.stdout.readline() == "done\n"


def test_the_cpu_time_is_that_of_the_process(worker: "subprocess.Popen[str]") -> None:
    before = cpu_seconds(worker.pid)
    order(worker, "compute")
    after = cpu_seconds(worker.pid)
    assert before is not None
    assert after is not None
    assert 0.2 < after - before < 5


def test_the_peak_remembers_what_is_held_no_more_until_it_is_reset(worker: "subprocess.Popen[str]") -> None:
    order(worker, "hold")
    held, peak = resident_bytes(worker.pid), peak_bytes(worker.pid)
    assert held is not None
    assert peak is not None
    assert peak - held > 48 * MIB
    assert reset_peak(worker.pid)
    anew = peak_bytes(worker.pid)
    assert anew is not None
    assert anew - held < 16 * MIB


def test_of_a_process_that_is_gone_nothing_is_known(worker: "subprocess.Popen[str]") -> None:
    worker.kill()
    worker.wait()
    assert cpu_seconds(worker.pid) is None
    assert peak_bytes(worker.pid) is None
    assert resident_bytes(worker.pid) is None
    assert not reset_peak(worker.pid)
