"""The host's command line."""

import pytest

from devhost.functions.options import parse_options


@pytest.mark.parametrize(
    ("argument", "value", "problem"),
    [
        ("--port", "65536", "65536 is no port"),
        ("--port", "-1", "-1 is no port"),
        ("--grace", "-5", "-5 is no number of seconds"),
        ("--answer-timeout", "inf", "inf is no number of seconds"),
        ("--answer-timeout", "nan", "nan is no number of seconds"),
    ],
)
def test_a_number_out_of_range_is_refused(
    capsys: pytest.CaptureFixture[str], argument: str, value: str, problem: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse_options(["--app", ".", f"{argument}={value}"])
    assert problem in capsys.readouterr().err


def test_numbers_in_range_are_taken() -> None:
    options = parse_options(["--app", ".", "--port=65535", "--grace=0", "--answer-timeout=1.5"])
    assert (options.port, options.grace_seconds, options.answer_seconds) == (65_535, 0.0, 1.5)
