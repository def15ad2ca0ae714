"""Telemetry that remembers."""

from collections import Counter, defaultdict

Key = tuple[str, tuple[tuple[str, str], ...]]


class FakeTelemetry:
    def __init__(self) -> None:
        self._counts: Counter[Key] = Counter()
        self._values: defaultdict[Key, list[float]] = defaultdict(list)

    def count(self, name: str, **labels: str) -> None:
        self._counts[_key(name, labels)] += 1

    def observe(self, name: str, value: float, **labels: str) -> None:
        self._values[_key(name, labels)].append(value)

    def counted(self, name: str, **labels: str) -> int:
        """How often `name` was counted with at least these labels."""
        wanted = set(labels.items())
        return sum(
            n for (counted, found), n in self._counts.items() if counted == name and wanted <= set(found)
        )

    def observed(self, name: str, **labels: str) -> list[float]:
        """The values observed for `name` with exactly these labels."""
        return list(self._values[_key(name, labels)])


def _key(name: str, labels: dict[str, str]) -> Key:
    return name, tuple(sorted(labels.items()))
