"""Strict JSON: what it takes, what it refuses, and that it never quotes a body."""

import contextlib
import json
import tracemalloc
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks.parsing import (
    LARGEST_BATCH,
    LARGEST_FORM,
    check_batch,
    form_fields,
    media_type,
    own_json,
    parse_object,
    parse_objects,
    require_identity_encoding,
    require_json,
    text_of,
)
from shared.webhooks.rejections import BodyTooLarge, MalformedBody, UnsupportedMediaType
from shared.webhooks.strict_json import DEEPEST
from tests.unit.shared.webhooks.requests import request

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**120), 10**120)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(
    document=st.dictionaries(st.text(st.characters(codec="utf-8")), VALUES, max_size=5), escaped=st.booleans()
)
def test_every_object_comes_back_as_it_was_written(document: dict[str, Any], escaped: bool) -> None:
    body = json.dumps(document, ensure_ascii=escaped, indent=2).encode()
    assert parse_object(body) == document


@pytest.mark.case(5, 6, 17, 108)
@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b"\xff", "not UTF-8"),
        (b'{"a":"\xc3"}', "not UTF-8"),
        (b'{"a":"\xed\xa0\x80"}', "not UTF-8"),
        ('{"a":1}'.encode("utf-16"), "not UTF-8"),
        (b'\xef\xbb\xbf{"a":1}', "not JSON"),
        (b"{", "not JSON"),
        (b'{"a":1}x', "not JSON"),
        (b"{'a':1}", "not JSON"),
        (b'{"a":01}', "not JSON"),
        (b'{"a":"\x00"}', "not JSON"),
        (b'{"a":1,}', "not JSON"),
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (b'"text"', "not an object"),
        (b"1", "not an object"),
        (b'{"a":1,"a":1}', "same key twice"),
        (b'{"x":[{"b":1,"\\u0062":2}]}', "same key twice"),
        (b'{"a":NaN}', "NaN or Infinity"),
        (b'{"a":-Infinity}', "NaN or Infinity"),
        (b'{"a":1e999}', "range of a double"),
        (b'{"a":' + b"9" * 129 + b"}", "longer than 128"),
        (b'{"a":0.' + b"1" * 127 + b"}", "longer than 128"),
        (b'{"a":' + b"9" * 5000 + b"}", "longer than 128"),
    ],
)
def test_what_is_not_strict_json_is_malformed(body: bytes, detail: str) -> None:
    with pytest.raises(MalformedBody, match=detail) as caught:
        parse_object(body)
    assert caught.value.status == 400


def nested(depth: int, opening: str, closing: str) -> bytes:
    """An object with `depth` levels in all."""
    return ('{"a":' + opening * (depth - 1) + "1" + closing * (depth - 1) + "}").encode()


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"b":', "}")])
def test_the_depth_is_limited(opening: str, closing: str) -> None:
    assert parse_object(nested(DEEPEST, opening, closing))
    for depth in (DEEPEST + 1, 500, 200_000):
        with pytest.raises(MalformedBody, match="deeper than 64"):
            parse_object(nested(depth, opening, closing))


def test_brackets_inside_of_text_are_no_depth() -> None:
    assert parse_object(b'{"a":"' + b"[" * 500 + b'"}')


def test_a_long_flat_body_is_read_in_less_memory_than_it_takes() -> None:
    body = b'{"a":[' + b",".join(b'{"b":"some text","c":[1,2]}' for _ in range(50_000)) + b"]}"
    tracemalloc.start()
    parse_object(body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(body)


@pytest.mark.parametrize("secret", ["tel +44 20 7946 0000", "a-private-word"])
@pytest.mark.parametrize("form", ['{{"{0}":1,"{0}":2}}', '["{0}"]', '{{"a":"{0}"', '{{"{0}":NaN}}'])
def test_the_refusal_never_quotes_the_body(secret: str, form: str) -> None:
    with pytest.raises(MalformedBody) as caught:
        parse_object(form.format(secret).encode())
    assert secret not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.fuzz
@given(st.binary(max_size=400))
def test_any_bytes_are_an_object_or_malformed(body: bytes) -> None:
    with contextlib.suppress(MalformedBody):
        assert isinstance(parse_object(body), dict)


@pytest.mark.parametrize("encoding", ["", "identity", " Identity "])
def test_a_body_as_it_is_passes(encoding: str) -> None:
    require_identity_encoding(request(b"", {"content-encoding": encoding}))


@pytest.mark.case(15)
@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip", "é"])
def test_a_compressed_body_is_unsupported(encoding: str) -> None:
    with pytest.raises(UnsupportedMediaType) as caught:
        require_identity_encoding(request(b"", {"content-encoding": encoding}))
    assert caught.value.status == 415


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("application/json", "application/json"),
        (" APPLICATION/Json ;charset=UTF-8", "application/json"),
        ('text/x; boundary=a; CHARSET="utf8"', "text/x"),
        ("application/json; charset=us-ascii", "application/json"),
        ("", ""),
    ],
)
def test_the_media_type_is_lower_case_and_without_parameters(header: str, kind: str) -> None:
    assert media_type(request(b"", {"content-type": header})) == kind


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-16", "", '"'])
def test_another_charset_is_unsupported(charset: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="charset"):
        media_type(request(b"", {"content-type": f"application/json; charset={charset}"}))


@given(
    st.lists(
        st.tuples(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))), max_size=5
    )
)
def test_the_fields_of_a_form_come_back_as_they_were_sent(fields: list[tuple[str, str]]) -> None:
    named = [(name, value) for name, value in fields if name or value]
    assert form_fields(urlencode(named).encode()) == named


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"", []),
        (b"a=1&a=&b", [("a", "1"), ("a", ""), ("b", "")]),
        (b"a=%2B+%20x", [("a", "+  x")]),
        (b"a=1;b=2", [("a", "1;b=2")]),
        (b"a=%zz", [("a", "%zz")]),
    ],
)
def test_a_form_is_read_without_losing_anything(body: bytes, fields: list[tuple[str, str]]) -> None:
    assert form_fields(body) == fields


@pytest.mark.parametrize("body", [b"a=%FF", b"a=\xc3\xa9", b"a=%ED%A0%80", b"&".join([b"a=1"] * 1001)])
def test_a_form_that_is_not_utf8_or_has_too_many_fields_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        form_fields(body)


def test_a_form_with_more_than_a_sender_puts_into_one_is_too_large() -> None:
    assert form_fields(b"a=" + b"x" * (LARGEST_FORM - 2)) == [("a", "x" * (LARGEST_FORM - 2))]
    with pytest.raises(BodyTooLarge, match="form over 1,048,576 bytes"):
        form_fields(b"a=" + b"x" * (LARGEST_FORM - 1))


@pytest.mark.parametrize("value", [None, "", 1, True, [], {}])
def test_a_field_that_must_be_text_is_named_where_it_is_not(value: object) -> None:
    with pytest.raises(MalformedBody, match="`id`"):
        text_of({"id": value}, "id")
    assert text_of({"id": "a\ud800"}, "id") == "a\ufffd"


def test_an_item_of_a_batch_has_json_of_its_own() -> None:
    assert own_json({"a": "é\ud800", "b": [1.5, None]}) == '{"a":"é\ufffd","b":[1.5,null]}'.encode()


@pytest.mark.parametrize("body", [b"{}", b"[1]", b"[{},null]", b"[[]]", b'"x"'])
def test_a_list_of_objects_is_nothing_else(body: bytes) -> None:
    assert parse_objects(b'[{"a":1},{}]') == [{"a": 1}, {}]
    with pytest.raises(MalformedBody, match="not a list of objects"):
        parse_objects(body)


@pytest.mark.parametrize("kind", ["application/json", "application/cloudevents+json", "Application/JSON;a=b"])
def test_json_kinds_are_json(kind: str) -> None:
    assert require_json(request(b"", {"content-type": kind})) == kind.split(";")[0].lower()


@pytest.mark.parametrize(
    "kind", ["", "text/json", "application/jsonx", "application/json, text/plain", "+json"]
)
def test_other_kinds_are_not(kind: str) -> None:
    with pytest.raises(UnsupportedMediaType):
        require_json(request(b"", {"content-type": kind}))


def test_a_batch_is_bounded() -> None:
    fits = b"[{}" + b" " * (LARGEST_BATCH - 4) + b"]"
    assert parse_objects(fits) == [{}]
    check_batch(fits)
    with pytest.raises(BodyTooLarge, match="a batch over 4,194,304 bytes"):
        parse_objects(fits + b" ")
