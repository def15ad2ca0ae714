"""What is done with a large text once it is read: expressions, encoding, copies, parts."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import jmespath
import pytest

from shared.webhooks import large_json
from shared.webhooks.json_documents import in_full, to_json
from shared.webhooks.large_json import LongList, LongObject
from shared.webhooks.long_texts import LongText
from shared.webhooks.parsing import parse_json
from tests.unit.shared.webhooks.large_texts import large_document, written


@pytest.mark.parametrize(
    "expression",
    [
        "id",
        "files",
        "files[0]",
        "files[-1].path",
        "files[7:9]",
        "files[1999:].tags[]",
        "files[*].size",
        "files[].path",
        "files[?size==`5`].tags | [0]",
        'more.places."crane-7".note',
        "more.places.*.berth",
        "more.text",
        "more.text.x",
        "more.places[0]",
        "{a: files, b: id, c: more.text, d: [more.places]}",
        "files == `[]` || more.places",
        "nothing || more",
        "@",
    ],
)
def test_an_expression_finds_what_it_finds_in_a_decoded_document(expression: str) -> None:
    document = large_document()
    found = jmespath.search(expression, parse_json(written(document)))
    expected = jmespath.search(expression, document)
    assert in_full(found) == expected
    assert json.loads(to_json(found)) == expected


def test_what_is_longer_than_a_window_stays_where_it_is_written() -> None:
    document = large_document()
    body = written(document)
    parsed = parse_json(body)
    kinds = [type(part) for part in (parsed, parsed["files"], parsed["more"], parsed["more"]["places"])]
    assert kinds == [LongObject, LongList, LongObject, LongObject]
    assert (type(parsed["more"]["text"]), type(parsed["files"][0])) == (LongText, dict)
    assert to_json(parsed) == body == to_json([parsed])[1:-1]
    assert to_json({"": parsed["files"], "t": [parsed["more"]["text"]]}) == b'{"":%b,"t":[%b]}' % (
        written(document["files"]),
        written(document["more"]["text"]),
    )


def test_code_that_knows_nothing_of_it_reads_it_all_or_fails() -> None:
    document = large_document()
    parsed = parse_json(written(document))
    for part in ("files", "pad"):
        assert json.loads(json.dumps(parsed[part])) == document[part]
    assert json.loads(json.dumps(parsed["more"]["places"])) == document["more"]["places"]
    for long in (parsed, parsed["more"], parsed["more"]["text"]):
        with pytest.raises(TypeError, match="is not JSON serializable"):
            json.dumps(long)


@pytest.mark.parametrize("use", [lambda it: it + it, lambda it: it * 2, reversed, lambda it: it.copy()])
def test_what_a_long_list_cannot_do_fails(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        use(parse_json(written(large_document()))["files"])


def test_a_long_object_is_copied_and_joined_as_a_dict() -> None:
    document = large_document()["more"]["places"]
    long = parse_json(written(large_document()))["more"]["places"]
    assert document | {"new": 1} == dict(long) | {"new": 1} == {**long, "new": 1}
    with pytest.raises(TypeError):
        reversed(long)


def test_a_part_of_a_list_is_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    files, passes, elements = parse_json(written(large_document()))["files"], [0], large_json._elements

    def counted(*arguments: Any) -> Iterator[Any]:
        passes[0] += 1
        return elements(*arguments)

    monkeypatch.setattr(large_json, "_elements", counted)
    assert [one["size"] for one in files[5:1_500:10]] == list(range(5, 1_500, 10))
    assert [one["size"] for one in files[::-1]] == list(range(1_999, -1, -1))
    assert passes == [2]


def test_nothing_of_it_is_shown() -> None:
    parsed = parse_json(written(large_document()))
    shown = repr((parsed, parsed["files"], parsed["more"]["text"]))
    assert "one" not in shown.replace("None", "")
    assert "docs" not in shown
