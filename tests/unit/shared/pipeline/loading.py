"""A least pipeline.toml, what it is read as, and the problems that are told of it."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from shared.errors import ConfigurationError
from shared.host_limits import HostLimits
from shared.pipeline import Pipeline
from shared.pipeline.loader import load_pipeline

LIMITS = HostLimits(function_timeout=timedelta(minutes=30), lock_renewal=timedelta(minutes=40))
MARGIN = timedelta(seconds=30)
SOURCE = """
[sources.github]
scheme = "github"
secrets = ["GITHUB_WEBHOOK_SECRET"]
[[sources.github.routes]]
event = "issues.*"
task = "summarize_document"
[tasks.summarize_document]
""".lstrip()


def load(folder: Path, text: str, limits: HostLimits | None = LIMITS) -> Pipeline:
    path = folder / "pipeline.toml"
    path.write_bytes(text.encode())
    return load_pipeline(path, limits=limits, lease_margin=MARGIN)


def problems_of(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(folder, text)
    first, *others = str(caught.value).splitlines()
    return [line.removeprefix("- ") for line in others] or [first]


ROUTE = "sources.github.routes[0]"
TASK = "tasks.summarize_document"


def cases(table: str) -> list[tuple[str, str]]:
    """The rows of a table above, each with the indented text under it as one line."""
    blocks = re.split(r"\n(?! )", table.strip())
    return [(row, " ".join(text.split())) for row, text in (block.split("\n", 1) for block in blocks)]
