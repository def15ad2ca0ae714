from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.unit.devhost.servicebus import load_child


@pytest.mark.slow
async def test_a_hundred_thousand_messages_pass_with_flat_memory(tmp_path: Path) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", load_child.__name__, str(tmp_path), "100000", stdout=asyncio.subprocess.PIPE
    )
    output, _ = await child.communicate()
    told = json.loads(output)
    print(told)
    assert told["drained"] == 100_000
    # The bodies alone are 190 MiB; SQLite's page cache (16 MiB) may still be filling.
    assert told["growth_mib"] < 24
    assert told["batches_per_s"] > 100
