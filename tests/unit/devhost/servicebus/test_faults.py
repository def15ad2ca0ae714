"""Every error the broker can tell has all three parts: the Python SDK reads them by position."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.amqp.decoder import decode
from devhost.amqp.encoder import encode
from devhost.amqp.outcomes import Rejected, describe_state, read_error
from devhost.amqp.performatives import SENDER, Close, Detach, Disposition, encode_performative
from devhost.amqp.types import Described
from devhost.servicebus import faults, model
from devhost.servicebus.faults import FaultError, fault_of, unexpected
from devhost.servicebus.model import BrokerError

FOLDER = Path(inspect.getfile(faults)).parent
CONDITIONS = sorted(
    value
    for name, value in vars(faults).items()
    if name.isupper() and isinstance(value, str) and ":" in value
)
ERRORS = [
    error for error in vars(model).values() if isinstance(error, type) and issubclass(error, BrokerError)
]
SMALLEST_FRAME = 512


def parts(fault: FaultError) -> list[object]:
    """The error's list as it comes out of the wire."""
    described, _ = decode(encode(fault.describe()))
    assert isinstance(described, Described)
    assert isinstance(described.value, list)
    return described.value


def is_whole(fault: FaultError) -> bool:
    condition, description, info = parts(fault)
    return bool(condition and description and info)


@given(st.sampled_from(CONDITIONS), st.text(max_size=2000))
def test_any_error_is_told_with_condition_description_and_info(condition: str, description: str) -> None:
    assert is_whole(FaultError(condition, description))


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("text", ["", "why"])
def test_an_error_of_the_engine_is_told_whole(error: type[BrokerError], text: str) -> None:
    assert is_whole(fault_of(error(text)))


def test_what_was_not_foreseen_is_told_whole() -> None:
    assert is_whole(unexpected())


@given(st.text(min_size=300, max_size=3000))
def test_an_error_fits_into_the_smallest_frame(description: str) -> None:
    """An error is never cut into frames: one that is too long could not be sent to every peer."""
    error = FaultError(max(CONDITIONS, key=len), description).describe()
    large = 0xFFFFFFFF
    rejected = describe_state(Rejected(error))
    for performative in (
        Close(error=error),
        Detach(handle=large, closed=True, error=error),
        Disposition(role=SENDER, first=large, last=large, settled=True, state=rejected),
    ):
        assert len(encode_performative(performative)) <= SMALLEST_FRAME - 8
    read = read_error(error)
    assert read is not None
    assert read.description
    assert description.encode("utf-8", "replace").decode().startswith(read.description)


def calls(name: str) -> list[tuple[str, ast.Call]]:
    """Every call of that name in the broker, with its file."""
    return [
        (file.name, node)
        for file in sorted(FOLDER.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == name
    ]


def is_described(value: ast.expr) -> bool:
    """`something.describe()`: of a `FaultError`, as types tell."""
    return isinstance(value, ast.Call) and getattr(value.func, "attr", None) == "describe"


def test_an_error_for_the_wire_is_made_in_one_place() -> None:
    assert [file for file, _ in calls("Error")] == ["faults.py"]
    assert [file for file, _ in calls("describe_error")] == ["faults.py"]


@pytest.mark.parametrize("performative", ["Close", "Detach", "End"])
def test_a_link_or_connection_is_ended_without_error_or_with_a_whole_one(performative: str) -> None:
    found = [
        keyword for _, call in calls(performative) for keyword in call.keywords if keyword.arg == "error"
    ]
    assert all(is_described(keyword.value) for keyword in found)
    assert performative == "End" or found


def test_only_the_echo_of_a_dead_letter_is_a_rejection_without_error() -> None:
    bare = [file for file, call in calls("Rejected") if not call.args and not call.keywords]
    assert bare == ["settlement.py"]
    given = [call.args[0] for _, call in calls("Rejected") if call.args]
    assert given
    assert all(is_described(value) for value in given)


def test_no_session_is_ended_by_the_broker() -> None:
    """The Python SDK waits for ever on one: see `Session.end`."""
    assert [(file, len(call.keywords)) for file, call in calls("End")] == [("session.py", 0)]
