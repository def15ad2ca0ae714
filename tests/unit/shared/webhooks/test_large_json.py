"""A large text read piece by piece holds what the decoder finds in it, and is refused as it would be."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.sizes import MIB
from shared.webhooks.large_json import LongList, LongObject
from shared.webhooks.long_texts import LongText
from shared.webhooks.parsing import parse_json
from shared.webhooks.rejections import MalformedBody
from shared.webhooks.strict_json import DEEPEST
from tests.unit.shared.webhooks.large_texts import narrow, verdict, written

LONG_TEXTS = st.builds(
    lambda part, times: part * times, st.text('{}[]:,\\"ué🏗 \n', min_size=3, max_size=12), st.integers(25, 40)
)
NAMES = ("{}", "é{}", '"{}\\', "🏗{}", "{}\n")


def many_members(name: str, values: list[Any], count: int) -> dict[str, Any]:
    return {name.format(number): values[number % len(values)] for number in range(count)}


# What is long is made of a few parts: drawn one by one, its parts would take most of the test's time.
DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False)
    | st.text(max_size=12)
    | LONG_TEXTS,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.builds(
            lambda some, times: some * times, st.lists(inner, min_size=1, max_size=3), st.integers(4, 12)
        )
        | st.dictionaries(st.text(max_size=6), inner, max_size=6)
        | st.builds(
            many_members,
            st.sampled_from(NAMES),
            st.lists(inner, min_size=1, max_size=4),
            st.integers(8, 24),
        )
    ),
    max_leaves=8,
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


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]))
@settings(max_examples=100)
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


@given(
    st.builds(
        lambda some, times: [part for number in range(times) for part in (number, some[number % len(some)])],
        st.lists(st.integers() | st.text(max_size=9), min_size=1, max_size=9),
        st.integers(40, 50),
    ),
    st.integers(-110, 110),
)
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


@given(
    st.builds(
        lambda some, name, values: some | many_members(name, values, 40),
        st.dictionaries(st.text(max_size=9), st.integers() | st.text(max_size=9), max_size=9),
        st.sampled_from(NAMES),
        st.lists(st.integers() | st.text(max_size=9), min_size=1, max_size=9),
    )
)
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


def test_a_key_twice_is_refused_however_far_apart() -> None:
    body = b'{"a":1,"pad":[' + b'"xxxxxxx",' * (MIB // 8) + b'1],"a":1}'
    with pytest.raises(MalformedBody, match="same key twice"):
        parse_json(body)


@pytest.mark.parametrize("body", [b'{"a":"%b\xff"}', b'["%b",\xff]', b'"%b\xff\xff\xff\xff\xff"'])
def test_what_is_not_utf8_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBody, match="UTF-8"):
        parse_json(body % (b"y" * MIB))
