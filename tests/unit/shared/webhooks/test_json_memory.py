"""Long strings taken out of a JSON text and put back change nothing; too many values are refused."""

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.webhooks import json_memory
from shared.webhooks.json_memory import LARGE, LONG, check_values, put_back, take_out
from shared.webhooks.long_texts import LongText
from shared.webhooks.parsing import parse_json
from shared.webhooks.rejections import BodyTooLarge, MalformedBody, WebhookRejected

TEXT = "x" * (LONG + 1)
FILLER = "y" * LARGE
DOCUMENTS = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def limits(**values: int) -> Any:
    """Other limits for the time of a `with`."""
    patch = pytest.MonkeyPatch()

    @contextlib.contextmanager
    def patched() -> Any:
        for name, value in values.items():
            patch.setattr(json_memory, name, value)
        try:
            yield
        finally:
            patch.undo()

    return patched()


def verdict(parse: Callable[[bytes], Any], body: bytes) -> Any:
    try:
        return parse(body)
    except WebhookRejected as rejection:
        return type(rejection), str(rejection)


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]))
def test_a_document_is_the_same_whatever_is_taken_out_of_it(
    document: Any, ascii_only: bool, indent: int | None
) -> None:
    body = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    plain = verdict(parse_json, body)
    with limits(LARGE=0, LONG=2):
        assert verdict(parse_json, body) == plain


@settings(max_examples=300)
@given(st.text(alphabet='{}[]":,\\ua1 \n\x01é', max_size=40).map(str.encode), st.binary(max_size=3))
def test_what_is_no_json_is_refused_all_the_same(begin: bytes, end: bytes) -> None:
    for body in (begin + end, b'{"a":"' + begin + end + b'"}', b'["xxxx",' + begin + b',"' + end + b'"]'):
        plain = verdict(parse_json, body)
        with limits(LARGE=0, LONG=2):
            found = verdict(parse_json, body)
        assert found == plain or {found[0], plain[0]} == {MalformedBody}


def test_only_long_values_are_taken_out() -> None:
    document = {"a": TEXT, "b": [TEXT + "é", FILLER], TEXT: 1, "c": TEXT + "\n", "d": "short"}
    body = json.dumps(document, ensure_ascii=False).encode()
    short, taken = take_out(body)
    found = sorted(len(text.in_full()) for text in taken.values())
    assert found == sorted([len(TEXT), len(TEXT) + 1, len(TEXT) + 1, len(FILLER)])
    assert put_back(json.loads(short), taken) == document == parse_json(body)


def test_nothing_is_taken_out_of_a_body_that_is_not_large() -> None:
    body = json.dumps("x" * (LARGE - 2)).encode()
    assert take_out(body) == (body, {})
    assert isinstance(parse_json(body), str)
    assert isinstance(parse_json(body + b" "), LongText)


def test_a_body_that_is_one_long_string_is_that_string() -> None:
    assert parse_json(json.dumps(FILLER).encode()) == FILLER


def test_a_long_string_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(MalformedBody, match="UTF-8"):
        parse_json(b'{"a":"' + FILLER.encode() + b'\xff"}')


@pytest.mark.parametrize("value", [b"1", b'"a"', b"null", b"{}", b"[]", b'{"a":1}', b"1.5", b'"a,b"'])
def test_too_many_values_are_refused_whatever_they_are(value: bytes) -> None:
    with limits(MOST_VALUES=1000), pytest.raises(BodyTooLarge, match="1,000 values"):
        check_values(b"[" + b",".join([value] * 1001) + b"]")


def test_commas_in_texts_are_no_values() -> None:
    prose = "one, two [three], {four}, " * 100
    body = json.dumps({"texts": [prose] * 10}).encode()
    with limits(MOST_VALUES=1000):
        check_values(body)
        check_values(b"[" + b",".join([b"12345678"] * 900) + b"]")


def test_counting_ends_early_where_there_are_only_strings() -> None:
    with limits(MOST_VALUES=10), pytest.raises(BodyTooLarge):
        check_values(b"[" + b",".join([b'"' + b"," * 80 + b'"'] * 1000) + b"]")
