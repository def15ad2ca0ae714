"""How configuration problems read."""

import pytest

from shared.errors import ConfigurationError
from shared.problems import Problem, configuration_error, shown


def test_one_problem_is_one_line() -> None:
    error = configuration_error([Problem("JOBS_QUEUE", "a name", "none")])
    assert isinstance(error, ConfigurationError)
    assert str(error) == "JOBS_QUEUE: expected a name, found none"


def test_several_problems_are_counted_and_listed() -> None:
    error = configuration_error([Problem("A", "x", "y"), Problem("B", "x", "z")])
    assert str(error) == "2 problems:\n- A: expected x, found y\n- B: expected x, found z"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", '"a\\nb"'),
        (5, "5"),
        ([1, "é"], '[1, "é"]'),
        ({1}, '"{1}"'),
        ("x" * 100, '"' + "x" * 59 + "..."),
    ],
)
def test_what_was_found_is_shown_on_one_short_line(value: object, text: str) -> None:
    assert shown(value) == text
