"""`dev.py bench` end to end with few of everything: what is measured here is whether it runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from devhost.bench.effort import Effort
from devhost.commands import bench
from devhost.paths import ROOT

FEW = Effort(
    imports=1,
    broker_batches=1,
    warm=1,
    requests=5,
    at_once=2,
    jobs=4,
    warm_jobs=1,
    large_bytes=1024 * 1024,
    large_at_once=3,
    rest_seconds=0.1,
)


@pytest.mark.flows
@pytest.mark.slow
def test_every_benchmark_runs_and_the_table_and_the_json_say_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / "bench.json"
    assert bench.main(["--json", str(target)], FEW) == 0
    shown = capsys.readouterr().out
    document = json.loads(target.read_text("utf-8"))
    assert list(document) == [
        "Cold start",
        "The local broker",
        "Webhooks",
        "Memory of the host with large bodies",
        "Jobs",
    ]
    rows = [row for figures in document.values() for row in figures]
    assert all(title in shown for title in document)
    assert all(row["name"] in shown and row["unit"] in shown for row in rows)
    answers = {row["name"]: row["value"] for row in document["Webhooks"]}
    assert answers["do-nothing function, median answer"] > 0
    assert answers["webhook of 3 KiB accepted, median"] > 0
    assert document["Jobs"][0]["value"] > 0


def test_an_unknown_benchmark_is_refused_before_anything_starts() -> None:
    code = "import sys; from devhost.commands import run; sys.exit(run(['bench', 'webhook']))"
    refused = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "expected one of imports, broker, webhooks, memory, jobs, found 'webhook'" in refused.stderr
