"""Effects of no particular service."""

import pytest

from tests.unit.devhost.outside.calls import Caller, refusal


def test_a_keyed_effect_happens_once_a_key_within_the_window(caller: Caller) -> None:
    caller.world.configure({"key_window_seconds": 60})
    first = caller.post("/effects/keyed", {"reference": "r"}, key="k")
    assert caller.post("/effects/keyed", {"reference": "r"}, key="k") == first
    assert caller.count("keyed") == 1
    caller.world.advance(60)
    assert caller.post("/effects/keyed", {"reference": "r"}, key="k") != first
    assert caller.world.effects.snapshot()["keyed"]["by_key"] == {"k": 2}


def test_a_findable_effect_is_found_by_its_reference_after_the_lag(caller: Caller) -> None:
    caller.world.configure({"find_lag_seconds": 3})
    made = [caller.post("/effects/findable", {"reference": "r"}, key="k") for _ in range(2)]
    caller.post("/effects/findable", {"reference": "other"})
    assert caller.get("/effects/findable", query={"reference": "r"}) == {"effects": []}
    caller.world.advance(3)
    assert caller.get("/effects/findable", query={"reference": "r"}) == {"effects": made}
    assert caller.world.effects.snapshot()["findable"]["by_reference"] == {"r": 2, "other": 1}


def test_a_blind_effect_honours_no_key_and_cannot_be_asked(caller: Caller) -> None:
    for _ in range(2):
        caller.post("/effects/blind", {"reference": "r"}, key="k")
    assert caller.count("blind") == 2
    refusal(caller.call("GET", "/effects/blind", query={"reference": "r"}), 404)


@pytest.mark.parametrize("reference", ["", 7, "x" * 501])
def test_a_reference_is_a_text(caller: Caller, reference: object) -> None:
    refusal(caller.call("POST", "/effects/findable", {"reference": reference}), 400)
    assert caller.count("findable") == 0


def test_what_is_findable_needs_a_reference(caller: Caller) -> None:
    refusal(caller.call("POST", "/effects/findable", {}), 400)
    refusal(caller.call("GET", "/effects/findable"), 400)
    caller.post("/effects/blind", {})
