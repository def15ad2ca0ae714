"""Runs the SDK's own tests and prints the outcome; an argument is a `-k` expression."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.broker.sdk_suite.suite import counts, fetch, run


def main() -> int:
    """0 if nothing failed."""
    only = " ".join(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        results = run(fetch(Path(folder)), only=only)
    for result in results:
        if result.outcome == "failed":
            print(f"{result.name}: {result.message}")
    print(counts(results))
    return int(any(result.outcome == "failed" for result in results))


if __name__ == "__main__":
    raise SystemExit(main())
