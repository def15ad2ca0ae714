"""Steps of scripts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.outside import steps
from devhost.outside.steps import Fault, Garbage, Step, StepError, parse


@pytest.mark.parametrize(
    ("written", "step"),
    [
        ("ok", Step()),
        ({"ok": True, "times": 3}, Step(times=3)),
        ({"status": 429, "retry_after": 3}, Step(Fault.STATUS, status=429, retry_after=3)),
        ({"status": 500, "after": True}, Step(Fault.STATUS, after=True, status=500)),
        (
            {"status": 400, "code": "moderation_blocked"},
            Step(Fault.STATUS, status=400, code="moderation_blocked"),
        ),
        ({"slow": 1.5}, Step(slow=1.5)),
        ({"hold": "here", "after": True}, Step(after=True, hold="here")),
        ("cut_before", Step(Fault.CUT_BEFORE)),
        ({"cut_after": "reset"}, Step(Fault.CUT_AFTER, reset=True)),
        ({"garbage": "html"}, Step(Fault.GARBAGE, after=True, garbage=Garbage.HTML)),
        ({"creation_fails": "bad_luck"}, Step(reply={"creation_fails": "bad_luck"})),
    ],
)
def test_a_step_is_read_as_it_is_written(written: object, step: Step) -> None:
    assert parse(written) == step


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("explode", "no 'explode'"),
        (None, "word or a JSON object"),
        (["ok"], "word or a JSON object"),
        ({"status": 500, "cut_after": True}, "one fault"),
        ({"status": 42}, "status is a number from 200"),
        ({"status": True}, "status is a number"),
        ({"slow": -1}, "slow is a number"),
        ({"slow": math.nan}, "slow is a number"),
        ({"cut_after": True, "after": True}, "leave out after"),
        ({"cut_after": "softly"}, "a cut is true"),
        ({"garbage": "glitter"}, "garbage is one of"),
        ({"garbage": ["html"]}, "garbage is one of"),
        ({"after": "yes"}, "after is true or false"),
        ({"hold": 7}, "hold is a short text"),
        ({"status": 302, "location": "http://x/\r\nset-cookie: y"}, "on one line"),
        ({"times": 0}, "times is a number from 1"),
        ({"garbage": "huge", "size": 10**12}, "size is a number"),
    ],
)
def test_a_step_that_cannot_be_understood_says_why(written: object, why: str) -> None:
    with pytest.raises(StepError, match=why):
        parse(written)


def test_the_functions_write_what_is_read() -> None:
    assert parse(steps.status(503, times=4)) == Step(Fault.STATUS, status=503, times=4)
    assert parse(steps.slow(2, after=True)) == Step(after=True, slow=2)
    assert parse(steps.hold("door")) == Step(hold="door")
    assert parse(steps.cut(Fault.CUT_DURING, reset=True)) == Step(Fault.CUT_DURING, reset=True)
    assert parse(steps.garbage(Garbage.HUGE, size=9)) == Step(
        Fault.GARBAGE, after=True, garbage=Garbage.HUGE, size=9
    )
    with pytest.raises(StepError, match="a cut is one of"):
        steps.cut(Fault.STATUS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    [*Fault, "after", "slow", "hold", "size", "times", "retry_after", "code", "usage", "content"]
)


@given(JSON | st.dictionaries(NAMES, JSON, max_size=4))
def test_whatever_is_written_is_a_step_or_refused(written: object) -> None:
    try:
        step = parse(written)
    except StepError:
        return
    assert step.times >= 1
    assert 0 <= step.slow <= steps.MOST_SECONDS
