"""The cold start: importing `function_app` beside the bare library, each in a fresh interpreter."""

import subprocess
import sys
import time

from devhost import paths
from devhost.bench.effort import Effort
from devhost.bench.figures import Figure, median

_BARE, _APP = "import azure.functions", "import function_app"


def run(effort: Effort) -> list[Figure]:
    """Taken in turns, so that a noisy moment meets both."""
    times: dict[str, list[float]] = {"pass": [], _BARE: [], _APP: []}
    for _ in range(effort.imports):
        for code, found in times.items():
            found.append(_milliseconds(code))
    python = median(times["pass"])
    bare, app = median(times[_BARE]) - python, median(times[_APP]) - python
    note = f"median of {effort.imports}, the interpreter's own {python:.0f} ms taken off"
    return [
        Figure("import azure.functions", bare, "ms", note),
        Figure("import function_app", app, "ms", note),
        Figure("ratio", app / bare, "times"),
    ]


def _milliseconds(code: str) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=paths.ROOT, check=True, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - begun) * 1000
