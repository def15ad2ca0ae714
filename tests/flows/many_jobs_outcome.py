"""What came of thousands of jobs: the faults, if any, and figures for people."""

import statistics
from collections import Counter
from dataclasses import dataclass, field

SAMPLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the processes."""

    at: float
    life: int
    done: int
    resident: dict[str, int]


@dataclass(slots=True)
class Outcome:
    """What came of it. `doubled`, `lost`, `unfinished`, `open_rows` and the queues' rests are faults."""

    jobs: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    kills: Counter[str] = field(default_factory=Counter)
    restarts: int = 0
    settled: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    cpu_of_last_life: float = 0.0
    doubled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unfinished: dict[str, str] = field(default_factory=dict)
    open_rows: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def quarters(self, part: str) -> tuple[float, float]:
        """The median memory of the part in the first and the last quarter of the time, in MiB."""
        found = [sample.resident[part] / 2**20 for sample in self.samples if part in sample.resident]
        size = max(1, len(found) // 4)
        return statistics.median(found[:size]), statistics.median(found[-size:])

    def pace(self) -> tuple[float, float]:
        """Jobs a second while the first and the last quarter of them got done."""
        count = len(self.jobs)
        marks = [
            next((sample.at for sample in self.samples if sample.done >= count * share), self.seconds)
            for share in (0.25, 0.75, 0.98)
        ]
        last = max(marks[2] - marks[1], SAMPLE_SECONDS)
        return count * 0.25 / max(marks[0], SAMPLE_SECONDS), count * 0.23 / last

    def told(self) -> str:
        """The figures for people."""
        first, last = self.pace()
        memory = "; ".join(
            f"{part} {before:.0f} -> {after:.0f} MiB"
            for part in ("host", "broker", "azurite")
            for before, after in [self.quarters(part)]
        )
        return (
            f"{len(self.jobs)} jobs in {self.seconds:.0f} s ({len(self.jobs) / self.seconds:.1f} a second; "
            f"first quarter {first:.1f}, last {last:.1f}), {self.kills.total()} kills "
            f"({self.kills['moment']} at a random moment), {self.restarts} restarts, "
            f"{self.settled.total()} settled by the operator ({dict(self.settled)}), "
            f"{len(self.doubled)} doubled, {len(self.lost)} lost, {len(self.unfinished)} unfinished, "
            f"memory {memory}"
        )
