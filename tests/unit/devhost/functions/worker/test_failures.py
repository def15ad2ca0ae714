"""What is told of a function's exception."""

import pytest

from devhost.functions.worker.failures import failed


class Untold(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raised(error: Exception) -> Exception:
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def test_type_text_and_trace_are_told() -> None:
    failure = failed(raised(ValueError("planned")))
    assert failure.message == "ValueError: planned"
    assert failure.stack_trace.startswith("Traceback")
    assert failure.stack_trace.endswith("ValueError: planned\n")


def test_an_exception_whose_text_fails_is_told_without_it() -> None:
    failure = failed(raised(Untold()))
    assert failure.message.startswith("Unhandled exception in function.")
    assert "Untold" in failure.stack_trace
