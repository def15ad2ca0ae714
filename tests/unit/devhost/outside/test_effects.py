"""Counting effects."""

from typing import Any

import pytest

from devhost.outside import effects
from devhost.outside.effects import Effects, Kind
from devhost.outside.messages import Answer, Call, Refused


def happen(counted: Effects, at: float = 0.0, *, window: float | None = 10, **headers: str) -> Answer:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    call = Call("POST", "/", at, headers=sent)
    answer = Answer.json({"at": at})
    return counted.once(
        Kind.KEYED, call, lambda: answer, request=call.path, reference="ref", key_window=window
    )


def count(counted: Effects) -> dict[str, Any]:
    shown: dict[str, Any] = counted.snapshot()["keyed"]
    return shown


def test_a_key_within_its_window_repeats_the_answer_and_nothing_happens() -> None:
    counted = Effects()
    first, second = (happen(counted, at, idempotency_key="k") for at in (0, 9))
    assert second.body == first.body
    assert second.headers == {"idempotent-replayed": "true"}
    assert (count(counted)["count"], count(counted)["repeats"]) == (1, 1)


def test_a_key_after_its_window_is_a_new_one() -> None:
    counted = Effects()
    happen(counted, 0, idempotency_key="k")
    assert b"10" in happen(counted, 10, idempotency_key="k").body
    assert count(counted)["by_key"] == {"k": 2}


def test_a_key_is_counted_but_not_honoured_without_a_window() -> None:
    counted = Effects()
    for _ in range(2):
        happen(counted, window=None, idempotency_key="k")
    assert count(counted)["by_key"] == {"k": 2}
    assert count(counted)["repeats"] == 0


def test_a_key_for_another_request_is_refused() -> None:
    counted = Effects()
    call = Call("POST", "/", 0.0, headers={"idempotency-key": "k"})
    counted.once(Kind.KEYED, call, lambda: Answer(200), request="one", key_window=10)
    with pytest.raises(Refused, match="another request"):
        counted.once(Kind.KEYED, call, lambda: Answer(200), request="two", key_window=10)
    assert count(counted)["count"] == 1


def test_what_happened_is_counted_by_reference_and_by_the_callers_own_id() -> None:
    counted = Effects()
    happen(counted, x_client_request_id="mine")
    happen(counted)
    assert count(counted)["by_reference"] == {"ref": 2}
    assert count(counted)["by_request"]["mine"] == 1
    assert len(count(counted)["by_request"]) == 2


def test_an_effect_that_is_refused_is_not_counted() -> None:
    def refuse() -> Answer:
        raise Refused(400, "no", "No.")

    counted = Effects()
    with pytest.raises(Refused):
        counted.once(Kind.KEYED, Call("POST", "/", 0.0), refuse, request="")
    assert count(counted)["count"] == 0


def test_what_can_no_longer_be_counted_does_not_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effects, "MOST_EFFECTS", 2)
    counted = Effects()
    happen(counted)
    happen(counted, idempotency_key="k")
    with pytest.raises(Refused) as refused:
        happen(counted)
    assert refused.value.status == 507
    happen(counted, idempotency_key="k")
    assert (count(counted)["count"], count(counted)["repeats"]) == (2, 1)
