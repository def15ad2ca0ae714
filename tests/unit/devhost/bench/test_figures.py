"""Figures, their table and their JSON."""

import json

import pytest

from devhost.bench.figures import Figure, as_document, as_table, median, percentile

FIGURES = {
    "Webhooks": [
        Figure("median answer", 1.23456, "ms", "200 of them"),
        Figure("rate", 12345.6, "per second"),
    ],
    "Nothing measured": [],
}


def test_the_median_is_not_moved_by_one_slow_answer() -> None:
    assert median([1.0, 2.0, 900.0]) == 2.0


@pytest.mark.parametrize(("share", "value"), [(0.0, 1.0), (0.5, 2.0), (0.75, 3.0), (0.99, 4.0), (1.0, 4.0)])
def test_the_share_of_values_does_not_exceed_its_percentile(share: float, value: float) -> None:
    assert percentile([4.0, 2.0, 3.0, 1.0], share) == value


def test_the_table_has_a_block_for_each_benchmark_with_readable_numbers() -> None:
    lines = as_table(FIGURES).splitlines()
    assert lines[1] == "Webhooks"
    assert lines[2].split() == ["median", "answer", "1.23", "ms", "200", "of", "them"]
    assert lines[3].split() == ["rate", "12,346", "per", "second"]
    assert lines[-1] == "Nothing measured"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "0"), (0.0123, "0.0123"), (99.94, "99.9"), (250.4, "250")]
)
def test_numbers_have_three_digits(value: float, shown: str) -> None:
    assert as_table({"A": [Figure("b", value, "ms")]}).split()[2] == shown


def test_the_document_keeps_the_exact_values() -> None:
    document = json.loads(json.dumps(as_document(FIGURES)))
    assert document["Webhooks"][0] == {
        "name": "median answer",
        "value": 1.23456,
        "unit": "ms",
        "note": "200 of them",
    }
    assert document["Nothing measured"] == []
