"""A large text read piece by piece holds what the decoder finds in it, and is refused as it would be."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jmespath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.sizes import KIB, MIB
from shared.webhooks import json_window, large_json, long_texts, parsing
from shared.webhooks.json_documents import in_full, to_json
from shared.webhooks.json_window import WINDOW
from shared.webhooks.large_json import LongList, LongObject
from shared.webhooks.long_texts import LongText
from shared.webhooks.parsing import parse_json
from shared.webhooks.rejections import BodyTooLarge, MalformedBody, WebhookRejected
from shared.webhooks.strict_json import DECODER, DEEPEST

NARROW = 140
"""The least window that holds any number."""
TEXTS = st.text(max_size=12) | st.text(alphabet='{}[]:,\\"ué🏗 \n', min_size=100, max_size=300)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.builds(lambda one, times: [one] * times, inner, st.integers(10, 60))
        | st.dictionaries(st.text(max_size=6), inner, max_size=6)
        | st.dictionaries(st.text(max_size=3), inner, min_size=8, max_size=40)
    ),
    max_leaves=12,
)
SCRAPS = st.lists(
    st.sampled_from(
        [
            *(
                "[",
                "]",
                "{",
                "}",
                ",",
                ":",
                '"',
                "\\",
                " ",
                "1",
                "-",
                "1e999",
                "NaN",
                "true",
                "nul",
                '"a":',
                "é",
            ),
            *("1,", "1," * 90, '"x",' * 50, '{"a":1},' * 30, "[2]," * 50, "9" * 129, "\x01"),
            '"' + "y" * 200 + '"',
        ]
    ),
    max_size=14,
).map("".join)


@contextmanager
def narrow(window: int = NARROW) -> Iterator[None]:
    """Whatever is larger than a window is large."""
    patch = pytest.MonkeyPatch()
    patch.setattr(json_window, "WINDOW", window)
    patch.setattr(json_window, "_FIRST_LOOK", 20)
    patch.setattr(long_texts, "_PIECE", 32)
    patch.setattr(parsing, "LARGE", 0)
    try:
        yield
    finally:
        patch.undo()


def written(document: Any, ascii_only: bool = False, indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else None
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent, separators=separators)
    return text.encode("utf-8", "surrogatepass")


def verdict(parse: Callable[[bytes], Any], body: bytes) -> Any:
    try:
        return in_full(parse(body))
    except WebhookRejected as rejection:
        return type(rejection), str(rejection)


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]))
@settings(max_examples=150)
@example(["🏗"] * 100, False, None)
@example({"a": "é" * 200, "b": [1] * 200, "c": {str(n): n for n in range(60)}}, False, None)
def test_a_document_is_the_same_in_pieces(document: Any, ascii_only: bool, indent: int | None) -> None:
    body = written(document, ascii_only, indent)
    plain = verdict(parse_json, body)
    with narrow():
        assert verdict(parse_json, body) == plain


@given(SCRAPS, SCRAPS, st.binary(max_size=3))
@settings(max_examples=400)
def test_what_is_no_strict_json_is_refused_all_the_same(begin: str, more: str, end: bytes) -> None:
    for text in (
        begin + more,
        f"[{begin}{more}]",
        f'{{"a":[{begin}1],"b":{more}}}',
        f'["{"x" * 300}",{begin}',
    ):
        body = text.encode() + end
        plain = verdict(parse_json, body)
        with narrow():
            found = verdict(parse_json, body)
        assert found == plain or {found[0], plain[0]} == {MalformedBody}, body


@given(st.lists(st.integers() | st.text(max_size=9), min_size=80, max_size=99), st.integers(-99, 99))
def test_a_long_list_is_a_list_to_who_uses_it(document: list[Any], place: int) -> None:
    with narrow():
        found = parse_json(written(document, ascii_only=True))
        assert isinstance(found, LongList)
        assert (len(found), list(found), bool(found)) == (len(document), document, True)
        for part in (slice(place, None), slice(None, place), slice(place, 3), slice(None, None, -7)):
            assert found[part] == document[part]
        assert found[place:5:-3] == document[place:5:-3]
        assert found == document
        assert document == found
        assert (found != document) is False
        assert found != document[1:]
        assert found != [*document[1:], 0.5]
        assert found not in ([], {}, "", None)
        assert document[3] in found
        assert None not in found
        if -len(document) <= place < len(document):
            assert found[place] == document[place]
        else:
            with pytest.raises(IndexError):
                found[place]


@given(st.dictionaries(st.text(max_size=9), st.integers() | st.text(max_size=9), min_size=60, max_size=80))
def test_a_long_object_is_a_dict_to_who_uses_it(document: dict[str, Any]) -> None:
    with narrow():
        found = parse_json(written(document, ascii_only=True))
        assert isinstance(found, LongObject)
        assert (len(found), list(found), list(found.items())) == (
            len(document),
            list(document),
            list(document.items()),
        )
        assert list(found.values()) == list(document.values())
        assert found.keys() - {""} == document.keys() - {""}
        assert {name: found[name] for name in found} == document == dict(found) == {**found}
        assert all(found.get(name) == document[name] for name in document)
        assert found == document
        assert document == found
        assert (found != document) is False
        assert found != document | {"": 0.5}
        assert found not in ([], {}, "", None)
        assert (found.get("no such name"), found.get("no such name", 7)) == (None, 7)
        assert "no such name" not in found
        with pytest.raises(KeyError):
            found["no such name"]


def large_document() -> dict[str, Any]:
    files = [{"path": f"docs/{n}.md", "size": n, "tags": ["a", "é"]} for n in range(2_000)]
    places = {f"crane-{n}": {"berth": n, "note": "🏗"} for n in range(3_000)}
    text = "é\n" * WINDOW
    return {"id": "one", "files": files, "more": {"places": places, "text": text}, "pad": ["x" * 9_999] * 99}


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


def test_a_body_that_is_not_large_is_decoded_as_a_whole() -> None:
    body = json.dumps("x" * (MIB - 2)).encode()
    assert isinstance(parse_json(body), str)
    assert isinstance(parse_json(body + b" "), LongText)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_is_bounded_as_in_small_ones(opening: str, closing: str) -> None:
    for padding in (f'"{"x" * 300}"', "[" + '"y",' * 99 + '"y"]', "[[1]]", "[[1],[1],[1]]", "[]", "1"):
        own = 1 + padding.count("[[") if padding.startswith("[") else 0
        for depth in (DEEPEST - own - 1, DEEPEST - own, DEEPEST - own + 1, 500):
            body = (opening * depth + padding + closing * depth).encode()
            plain = verdict(parse_json, body)
            with narrow():
                assert verdict(parse_json, body) == plain


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


def test_a_key_twice_is_refused_however_far_apart() -> None:
    body = b'{"a":1,"pad":[' + b'"xxxxxxx",' * (MIB // 8) + b'1],"a":1}'
    with pytest.raises(MalformedBody, match="same key twice"):
        parse_json(body)


@pytest.mark.parametrize("body", [b'{"a":"%b\xff"}', b'["%b",\xff]', b'"%b\xff\xff\xff\xff\xff"'])
def test_what_is_not_utf8_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBody, match="UTF-8"):
        parse_json(body % (b"y" * MIB))


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
