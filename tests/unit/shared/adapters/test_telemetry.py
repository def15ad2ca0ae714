"""Metrics as log lines and totals."""

import json
import logging

import pytest

from shared.adapters.telemetry import OVERFLOW, StructuredTelemetry


def test_a_count_is_a_line_and_a_total(caplog: pytest.LogCaptureFixture) -> None:
    telemetry = StructuredTelemetry()
    with caplog.at_level(logging.INFO, logger="afterhook.metric"):
        telemetry.count("jobs_finished", state="succeeded")
        telemetry.count("jobs_finished", state="succeeded")
    lines = [json.loads(record.getMessage()) for record in caplog.records]
    assert lines == 2 * [
        {"metric": "jobs_finished", "type": "counter", "value": 1, "labels": {"state": "succeeded"}}
    ]
    assert telemetry.counters() == {("jobs_finished", (("state", "succeeded"),)): 2}


def test_an_observation_is_a_line_and_a_sum(caplog: pytest.LogCaptureFixture) -> None:
    telemetry = StructuredTelemetry()
    with caplog.at_level(logging.INFO, logger="afterhook.metric"):
        telemetry.observe("seconds", 1.5, task="t")
        telemetry.observe("seconds", 2.0, task="t")
    assert json.loads(caplog.records[0].getMessage())["value"] == 1.5
    (series,) = telemetry.observations().values()
    assert (series.count, series.total) == (2, 3.5)


def test_the_order_of_labels_makes_no_other_series() -> None:
    telemetry = StructuredTelemetry()
    telemetry.count("a", x="1", y="2")
    telemetry.count("a", y="2", x="1")
    assert list(telemetry.counters().values()) == [2]


def test_series_without_end_do_not_fill_the_memory() -> None:
    telemetry = StructuredTelemetry(max_series=10)
    for n in range(1000):
        telemetry.count("a", label=str(n))
    counters = telemetry.counters()
    assert len(counters) == 11
    assert counters[(OVERFLOW, ())] == 990
