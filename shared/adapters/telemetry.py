"""Metrics as structured log lines, which Application Insights charts, and as totals kept in the process."""

import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass

logger = logging.getLogger("afterhook.metric")
MAX_SERIES = 1000
OVERFLOW = "metrics_dropped"
Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Series:
    """The totals of one metric with one set of labels since the process started."""

    count: int = 0
    total: float = 0.0


class StructuredTelemetry:
    """Telemetry. Series beyond a limit are counted as one, so that a label gone wrong cannot fill memory."""

    def __init__(self, max_series: int = MAX_SERIES) -> None:
        self._max_series = max_series
        self._lock = threading.Lock()
        self._counters: dict[tuple[str, Labels], Series] = {}
        self._observations: dict[tuple[str, Labels], Series] = {}

    def count(self, name: str, **labels: str) -> None:
        self._add(self._counters, name, labels, 1.0)
        self._write({"metric": name, "type": "counter", "value": 1, "labels": labels})

    def observe(self, name: str, value: float, **labels: str) -> None:
        self._add(self._observations, name, labels, value)
        self._write({"metric": name, "type": "observation", "value": value, "labels": labels})

    def counters(self) -> Mapping[tuple[str, Labels], int]:
        """How often each (name, labels) was counted."""
        with self._lock:
            return {key: series.count for key, series in self._counters.items()}

    def observations(self) -> Mapping[tuple[str, Labels], Series]:
        """Number and sum of what was observed for each (name, labels)."""
        with self._lock:
            return {key: Series(series.count, series.total) for key, series in self._observations.items()}

    def _add(
        self, kept: dict[tuple[str, Labels], Series], name: str, labels: Mapping[str, str], value: float
    ) -> None:
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            if key not in kept and len(kept) >= self._max_series:
                key = (OVERFLOW, ())
            series = kept.setdefault(key, Series())
            series.count += 1
            series.total += value

    def _write(self, line: Mapping[str, object]) -> None:
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", json.dumps(line, separators=(",", ":")))
