"""A problem between the parts of pipeline.toml, and how its raw document is looked at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.pipeline.lines import Path


@dataclass(frozen=True, slots=True)
class Misfit:
    """A problem at a key path; the loader adds file and line."""

    path: Path
    expected: str
    found: str


def table(value: object) -> Mapping[str, Any]:
    """`value` if it is a table, or an empty one: its shape is checked elsewhere."""
    return value if isinstance(value, dict) else {}
