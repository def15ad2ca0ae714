"""Bodies of calls."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devhost.outside.messages import Answer, Call, Refused, fingerprint
from tests.unit.devhost.outside.calls import multipart


def call(body: bytes, content_type: str) -> Call:
    return Call("POST", "/", 0.0, headers={"content-type": content_type}, body=body)


def test_a_json_object_gives_its_fields() -> None:
    assert call(b'{"a": [1]}', "application/json").fields() == {"a": [1]}


def test_a_form_gives_its_fields_the_empty_ones_too() -> None:
    sent = call(b"To=%2B15550100&Body=", "application/x-www-form-urlencoded; charset=utf-8")
    assert sent.fields() == {"To": "+15550100", "Body": ""}


def test_a_multipart_form_gives_its_texts_and_tells_of_its_files() -> None:
    body = (
        b'--x\r\nContent-Disposition: form-data; name="prompt"\r\n\r\na k\xc3\xa9ttle\r\n'
        b'--x\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n'
        b"Content-Type: image/png\r\n\r\n\x89PNG\r\n--x--\r\n"
    )
    fields = call(body, "multipart/form-data; boundary=x").fields()
    assert fields["prompt"] == "a kéttle"
    assert fields["image"]["filename"] == "a.png"
    assert fields["image"]["bytes"] == len(b"\x89PNG")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "application/json"),
        (b"[1]", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b"\xff", "application/json"),
        (b"nothing here", "multipart/form-data"),
        (b"--x\r\n\r\nno name\r\n--x--\r\n", "multipart/form-data; boundary=x"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(body: bytes, content_type: str) -> None:
    with pytest.raises(Refused):
        call(body, content_type).fields()


@given(
    st.binary(max_size=200),
    st.sampled_from(
        [
            "",
            "application/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "multipart/form-data; boundary=x",
        ]
    ),
)
def test_whatever_is_sent_is_read_or_refused(body: bytes, content_type: str) -> None:
    for content in (body, b"--x\r\n" + body + b"\r\n--x--"):
        with contextlib.suppress(Refused):
            assert isinstance(call(content, content_type).fields(), dict)


def test_two_sendings_of_one_form_have_one_fingerprint() -> None:
    first, second = (multipart({"prompt": "a kettle"}) for _ in range(2))
    assert first[0] != second[0]
    fields = [call(body, headers["content-type"]).fields() for body, headers in (first, second)]
    assert fingerprint(fields[0]) == fingerprint(fields[1])
    assert fingerprint(fields[0]) != fingerprint({"prompt": "a cup"})


def test_an_answer_takes_more_headers() -> None:
    answer = Answer.json({}).with_headers(retry_after="3").with_headers(x_other="b")
    assert answer.headers == {"retry-after": "3", "x-other": "b"}
