"""A field of a form is what the standard library finds in it, in one piece or in many."""

from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks import forms
from shared.webhooks.forms import field_values
from shared.webhooks.rejections import MalformedBody

NAME = b"payload"
SENT = st.lists(
    st.tuples(st.sampled_from(["payload", "pay", "payloads", "", "pay load", "%70"]), st.text(max_size=40))
)


@pytest.fixture(params=[3, 4, 7, 64 * 1024], autouse=True)
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_PIECE", request.param)


def expected(body: bytes) -> list[bytes]:
    pairs = parse_qsl(body.decode(), keep_blank_values=True, encoding="latin-1")
    return [value.encode("latin-1") for name, value in pairs if name.encode("latin-1") == NAME]


@given(SENT)
def test_what_was_put_into_the_form_comes_out(fields: list[tuple[str, str]]) -> None:
    body = urlencode(fields).encode()
    assert field_values(body, NAME, 1000) == [value.encode() for name, value in fields if name == "payload"]


@given(st.text(alphabet="payload=&%+27fF0", max_size=60).map(str.encode))
def test_the_standard_library_reads_the_same(body: bytes) -> None:
    assert field_values(body, NAME, 1000) == expected(body)


@pytest.mark.parametrize(
    "body", [b"%70ayload=x", b"payload=a=b", b"payload", b"payload=", b"&&payload=%2", b""]
)
def test_odd_forms_are_read_as_the_standard_library_does(body: bytes) -> None:
    assert field_values(body, NAME, 8) == expected(body)


@pytest.mark.parametrize("body", ["payload=é".encode(), b"payload=\xff", b"a=1&" * 8 + b"payload=x"])
def test_what_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        field_values(body, NAME, 8)
