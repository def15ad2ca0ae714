"""Time and memory that the reading of a large text takes, and what is refused for them."""

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from shared.sizes import KIB, MIB
from shared.webhooks import json_window, large_json
from shared.webhooks.json_documents import in_full, to_json
from shared.webhooks.json_window import WINDOW
from shared.webhooks.parsing import parse_json
from shared.webhooks.rejections import BodyTooLarge, MalformedBody
from shared.webhooks.strict_json import DECODER
from tests.unit.shared.webhooks.large_texts import written


def test_deep_nesting_that_never_ends_is_refused() -> None:
    with pytest.raises(MalformedBody):
        parse_json(b"[ " * (MIB // 2 + 1))


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[1,"x",', "]")])
def test_long_values_in_one_another_are_not_read_over_and_over(
    opening: str, closing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = opening * 55 + f"[{','.join(['1234567890'] * 6_500)}]" + closing * 55
    body = f"[{','.join([one] * 16)}]".encode()
    tried = []

    class Counted(json.JSONDecoder):
        def raw_decode(self, text: str, idx: int = 0) -> tuple[Any, int]:
            tried.append(len(text) - idx)
            value, end = DECODER.raw_decode(text, idx)
            tried[-1] = end - idx
            return value, end

    monkeypatch.setattr(json_window, "DECODER", Counted())
    parsed = parse_json(body)
    assert sum(tried) < 10 * len(body)
    tried.clear()
    assert in_full(parsed) == json.loads(body)
    assert sum(tried) < 10 * len(body)


def test_a_name_may_be_as_long_as_a_window() -> None:
    for length in (WINDOW - 3, WINDOW - 2, WINDOW - 1):
        body = written({"": 1, "x" * length: "é" * MIB})
        if length == WINDOW - 1:
            with pytest.raises(BodyTooLarge):
                parse_json(body)
        else:
            assert [len(name) for name in parse_json(body)] == [0, length]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param((f"{n:030}" for n in range(large_json.MOST_NAMES + 1)), id="many"),
        pytest.param(("x" * KIB + str(n) for n in range(2_100)), id="long together"),
        pytest.param(["y" * (2 * WINDOW)], id="one long"),
    ],
)
def test_an_object_of_too_many_or_too_long_names_is_refused(names: Iterator[str]) -> None:
    body = written({"a": dict.fromkeys(names, 1), "pad": "x" * MIB})
    with pytest.raises(BodyTooLarge, match="100,000 keys"):
        parse_json(body)


def test_names_of_objects_side_by_side_are_not_added_up() -> None:
    one = {f"{n:010}": n for n in range(40_000)}
    body = written([one, one, one])
    assert [len(found) for found in parse_json(body)] == [40_000] * 3


def many_texts() -> Any:
    return {"texts": [f"docs/harbour/cranes/{n:07}.md" for n in range(100_000)]}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(many_texts(), id="short texts"),
        pytest.param({"text": ["🏗" + "x" * 3_000] * 1_000}, id="texts with one wide character"),
        pytest.param({"a": [{"b": n, "c": [n]} for n in range(50_000)]}, id="small objects"),
        pytest.param({"a": {f"the name {n}": {"b": n} for n in range(40_000)}}, id="an object of many"),
        pytest.param({"a": list(range(200_000))}, id="numbers"),
    ],
)
def test_reading_a_large_text_and_writing_it_takes_hardly_more_than_the_text(document: Any) -> None:
    body = written(document)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        parsed = parse_json(body)
        grown = tracemalloc.get_traced_memory()[1] - before
        assert to_json(parsed) == body
        in_all = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    # Forty thousand names are held, and places of theirs; a copy is what `to_json` gives.
    assert grown < max(2 * MIB, 200 * len(document["a"]) if isinstance(document.get("a"), dict) else 0)
    assert in_all < grown + 2.2 * len(body)
