"""A long string that stays in its JSON text is the string that the decoder finds there."""

import json
import sys
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.printable import clean_text
from shared.sizes import MIB
from shared.webhooks import long_texts
from shared.webhooks.json_documents import in_full, to_json
from shared.webhooks.json_window import WINDOW
from shared.webhooks.long_texts import LongText, end_of_string, utf8
from shared.webhooks.parsing import parse_json

JSON_TEXTS = st.text(alphabet='{}[]:,\\"ua1dDcC9é🏗 \n\x01', max_size=40)


@pytest.fixture(params=[13, 14, 17, 64 * 1024], autouse=True)
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How much is decoded at once: escapes lie across every border."""
    monkeypatch.setattr(long_texts, "_PIECE", request.param)


def long_text(written: str | bytes) -> LongText:
    """Of what is written between the quotation marks."""
    body = written if isinstance(written, bytes) else written.encode("utf-8", "surrogatepass")
    return LongText(b'"' + body + b'"', 1, len(body) + 1)


def stored(text: LongText) -> bytes:
    return b"".join(text.encoded())


def large_document() -> Any:
    return {"texts": ["é\n" * (MIB // 8), "x" * WINDOW], "more": {"text": "🏗 \ud800" + "y" * WINDOW}}


@given(st.text(max_size=40), st.booleans())
@example("\\" * 300 + "\ud83d\ude00" * 200, True)
@example("\\" * 301 + "ud83d" + '\U0001f600"' * 200, True)
@example("é🏗" * 200, False)
def test_it_is_the_string_that_was_written(text: str, ascii_only: bool) -> None:
    text = clean_text(text)
    written = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    assert long_text(written).in_full() == text == long_text(written)
    assert stored(long_text(written)) == text.encode()


@given(JSON_TEXTS)
@example("\\ud83d")
@example("\\ud83d\\ud83d\\ude00")
@example("\\ud83")
@example("\\")
@example("\\\\u")
def test_it_is_what_the_decoder_finds_and_refuses_what_that_refuses(written: str) -> None:
    try:
        expected = json.loads(f'"{written}"')
    except ValueError:
        if '"' not in written.replace('\\"', ""):
            with pytest.raises(ValueError):  # noqa: PT011  any of them says that it is no JSON
                long_text(written).in_full()
        return
    assert long_text(written).in_full() == expected
    assert stored(long_text(written)) == clean_text(expected).encode()


@pytest.mark.parametrize("written", [b"\xff", b"\xc3", b"\xc3\\n\xa9", b"x" * 70_000 + b"\xf0\x9f\x8f"])
def test_what_is_not_utf8_is_no_string(written: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        stored(long_text(written))


def test_it_equals_its_text_and_no_other() -> None:
    text = long_text(r"\ud83d\ude00\n")
    assert text == "😀\n" == text
    assert text == long_text(r"😀\u000a")
    assert text not in ("😀", "", "x" * 100, None, 1)


@pytest.mark.parametrize("piece", [64 * 1024], indirect=True)
def test_a_document_is_written_with_its_long_strings_as_they_came() -> None:
    document = large_document()
    parsed = parse_json(json.dumps(document).encode())
    assert isinstance(parsed["texts"][0], LongText)
    assert isinstance(parsed["more"]["text"], LongText)
    assert json.loads(to_json(dict(parsed))) == document == in_full(parsed)
    assert to_json(parsed["texts"][1]) == json.dumps(document["texts"][1]).encode()
    assert to_json({"a": "é\ud800"}) == '{"a":"é�"}'.encode()
    with pytest.raises(TypeError, match="object"):
        to_json({"a": object()})
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(float("nan"))


@pytest.mark.parametrize("written", [b'"', b'"abc', rb'"abc\"', rb'"abc\\\"'])
def test_a_string_without_an_end_is_none(written: bytes) -> None:
    with pytest.raises(ValueError, match="without an end"):
        end_of_string(b"  " + written, 2)


@pytest.mark.parametrize("written", [b'""', b'"abc"', rb'"\\"', rb'"\"\\"', b'"' + rb"\\" * 999 + b'"'])
def test_a_string_ends_with_its_first_quotation_mark_that_is_not_escaped(written: bytes) -> None:
    assert end_of_string(b"\\" + written + b'"', 1) == len(written) + 1


@pytest.mark.parametrize("piece", [64 * 1024], indirect=True)
@pytest.mark.parametrize("escape", [rb"\"", rb"\\\"", rb"\\"])
def test_the_end_of_a_string_of_escapes_is_found_in_few_steps(escape: bytes) -> None:
    written, steps = b'"' + escape * (4 * MIB // len(escape)) + b'"', 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        end = end_of_string(written, 0)
    finally:
        sys.setprofile(None)
    assert (end, steps < 5_000) == (len(written), True)


def test_utf8_of_a_text_that_cannot_be_encoded_is_mended() -> None:
    assert utf8("aé\udfff") == "aé�".encode()


@pytest.mark.parametrize("piece", [64 * 1024], indirect=True)
@pytest.mark.parametrize("written", [r"\n\u00e9 ", "🏗xxxxxxxxxxxx", "xxxxxxxxxxxxxxxx"])
def test_reading_and_encoding_a_large_string_takes_hardly_more_than_the_body(
    written: str,
) -> None:
    body = b'{"text":"' + written.encode() * (2 * MIB // len(written.encode())) + b'"}'
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        document = parse_json(body)
        encoded = document["text"].encoded()
        size = sum(len(piece) for piece in encoded)
        grown = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert b"".join(encoded).decode() == json.loads(body)["text"]
    assert (size, grown < MIB) == (encoded.size, True)
