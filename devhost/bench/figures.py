"""Figures as a table for people and as JSON for tools."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. `note` says against what, or over how many."""

    name: str
    value: float
    unit: str
    note: str = ""


def median(values: Sequence[float]) -> float:
    """The median, robust against a noisy neighbour."""
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` (0 to 1) of the sorted values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def as_table(figures: Mapping[str, Sequence[Figure]]) -> str:
    """One block a benchmark."""
    lines: list[str] = []
    for title, rows in figures.items():
        lines += ["", title]
        lines += [
            f"  {row.name:<54} {_shown(row.value):>10} {row.unit:<12} {row.note}".rstrip() for row in rows
        ]
    return "\n".join(lines)


def as_document(figures: Mapping[str, Sequence[Figure]]) -> dict[str, list[dict[str, object]]]:
    """The same, to be written as JSON."""
    return {title: [asdict(row) for row in rows] for title, rows in figures.items()}


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
