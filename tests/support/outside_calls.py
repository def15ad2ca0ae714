"""What flows ask of the outside beside its control: the videos it lists, and the calls that it kept."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from devhost.outside import Remote


def listed_videos(outside: Remote) -> list[dict[str, Any]]:
    """As its service lists them, the newest first."""
    url = f"{outside.openai_url}/videos?limit=100"
    with urlopen(Request(url, headers={"Authorization": "Bearer any"}), timeout=60) as answer:
        found: list[dict[str, Any]] = json.loads(answer.read())["data"]
    return found


def kept_calls(state: Path, method: str, path: str) -> list[dict[str, Any]]:
    """The calls of this kind that had an effect, as the outside's state file has them; the oldest first."""
    calls = [json.loads(line).get("call", {}) for line in state.read_bytes().splitlines()]
    return [call for call in calls if (call.get("method"), call.get("path")) == (method, path)]


def count_of(job_id: str, counted: Mapping[str, int]) -> int:
    """How often it happened under a name of this job, such as its idempotency keys."""
    return sum(count for name, count in counted.items() if name.startswith(job_id))
