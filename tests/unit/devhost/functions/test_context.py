"""Trace contexts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.functions.context import child_trace

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"


def test_a_callers_trace_goes_on_in_a_span_of_its_own() -> None:
    trace = child_trace(f"00-{TRACE}-{SPAN}-01", "k=v")
    version, trace_id, span, flags = trace.trace_parent.split("-")
    assert (version, trace_id, flags) == ("00", TRACE, "01")
    assert span != SPAN
    assert trace.trace_state == "k=v"


@pytest.mark.parametrize(
    "parent",
    [
        None,
        "",
        "nonsense",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
    ],
)
def test_without_a_good_parent_a_new_trace_begins_without_its_state(parent: str | None) -> None:
    trace = child_trace(parent, "k=v")
    assert TRACE not in trace.trace_parent
    assert trace.trace_state == ""


@given(st.text(max_size=60))
def test_any_parent_gives_a_well_formed_trace(parent: str) -> None:
    assert [len(part) for part in child_trace(parent).trace_parent.split("-")] == [2, 32, 16, 2]
