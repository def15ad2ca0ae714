"""Scripts."""

import pytest

from devhost.outside.messages import Call
from devhost.outside.scripts import MOST_SCRIPTS, MOST_STEPS, Scripts, matches
from devhost.outside.steps import OK, Fault, StepError


def call(path: str = "/things", *, method: str = "POST", body: bytes = b"", key: str = "") -> Call:
    return Call(method, path, 0.0, headers={"idempotency-key": key} if key else {}, body=body)


def faults(scripts: Scripts, count: int, asked: Call) -> list[Fault]:
    return [scripts.step(asked).fault for _ in range(count)]


def test_calls_use_up_the_steps_in_order_and_then_all_is_well() -> None:
    scripts = Scripts()
    scripts.put(
        {
            "method": "POST",
            "path": "/things",
            "steps": [{"status": 503, "times": 2}, "ok", "cut_after"],
        }
    )
    assert scripts.left() == [{"method": "POST", "path": "/things", "match": "", "left": 4}]
    assert faults(scripts, 5, call()) == [
        Fault.STATUS,
        Fault.STATUS,
        Fault.NONE,
        Fault.CUT_AFTER,
        Fault.NONE,
    ]
    assert scripts.left() == []


def test_a_script_concerns_its_own_method_and_path_alone() -> None:
    scripts = Scripts()
    scripts.put({"method": "GET", "path": "/things/*/parts", "steps": ["cut_before"]})
    for other in (
        call("/things/7/parts"),
        call("/things/7", method="GET"),
        call("/things//parts", method="GET"),
    ):
        assert scripts.step(other) is OK
    assert scripts.step(call("/things/7/parts", method="GET")).fault is Fault.CUT_BEFORE


def test_a_script_can_concern_the_calls_with_a_text_in_body_or_key() -> None:
    scripts = Scripts()
    for text in ("job_a", "job_b"):
        scripts.put({"method": "POST", "path": "/things", "match": text, "steps": ["cut_before"]})
    assert scripts.step(call(body=b'{"job": "job_c"}')) is OK
    assert scripts.step(call(body=b'{"job": "job_a"}')).fault is Fault.CUT_BEFORE
    assert scripts.step(call(key="job_b:send")).fault is Fault.CUT_BEFORE
    assert scripts.step(call(key="job_b:send")) is OK


def test_a_later_script_for_the_same_calls_takes_the_place_of_the_earlier() -> None:
    scripts = Scripts()
    scripts.put({"method": "POST", "path": "/things", "steps": [{"status": 500, "times": 1000}]})
    scripts.put({"method": "POST", "path": "/things", "steps": ["cut_before"]})
    assert faults(scripts, 2, call()) == [Fault.CUT_BEFORE, Fault.NONE]
    scripts.put({"method": "POST", "path": "/things", "steps": ["cut_before"]})
    scripts.put({"method": "POST", "path": "/things", "steps": []})
    assert scripts.step(call()) is OK


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"method": "FETCH"}, "method is one of"),
        ({"path": "things"}, "path is a text"),
        ({"match": 7}, "match is a text"),
        ({"steps": "ok"}, "steps is a list"),
        ({"steps": ["ok"] * (MOST_STEPS + 1)}, "steps is a list of at most"),
        ({"steps": ["explode"]}, "explode"),
        ({"colour": "red"}, "no colour"),
    ],
)
def test_a_script_that_cannot_be_followed_is_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(StepError, match=why):
        Scripts().put({"method": "POST", "path": "/things", "steps": ["ok"], **change})


def test_there_are_not_more_scripts_than_can_be_kept() -> None:
    scripts = Scripts()
    for number in range(MOST_SCRIPTS):
        scripts.put({"method": "POST", "path": f"/{number}", "steps": ["ok"]})
    with pytest.raises(StepError, match="already"):
        scripts.put({"method": "POST", "path": "/one-more", "steps": ["ok"]})
    scripts.put({"method": "POST", "path": "/1", "steps": ["cut_before"]})
    scripts.clear()
    assert scripts.left() == []


def test_a_star_stands_for_one_segment_that_is_not_empty() -> None:
    assert matches("/a/*/c/*", "/a/b/c/d") == ("b", "d")
    assert matches("/a/*", "/a/") is None
    assert matches("/a/*", "/a/b/c") is None
    assert matches("/a", "/b") is None
