"""Too many values are refused before they are decoded."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks import json_values, long_texts
from shared.webhooks.json_values import MOST_VALUES, check_values
from shared.webhooks.rejections import BodyTooLarge


@pytest.fixture
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "MOST_VALUES", request.param)


@pytest.mark.parametrize("most", [1000], indirect=True)
@pytest.mark.parametrize("value", [b"1", b'"a"', b"null", b"{}", b"[]", b'{"a":1}', b"1.5", b'"a,b"'])
@pytest.mark.usefixtures("most")
def test_too_many_values_are_refused_whatever_they_are(value: bytes) -> None:
    with pytest.raises(BodyTooLarge, match="1,000 values"):
        check_values(b"[" + b",".join([value] * 1001) + b"]")


@pytest.mark.parametrize("most", [1000], indirect=True)
@pytest.mark.usefixtures("most")
def test_commas_in_texts_are_no_values() -> None:
    prose = "one, two [three], {four}, " * 100
    check_values(json.dumps({"texts": [prose] * 10}).encode())
    check_values(b"[" + b",".join([b"12345678"] * 900) + b"]")


TEXTS = st.text(alphabet='\\",[{xé', max_size=60)


@given(
    st.lists(TEXTS | st.lists(TEXTS, max_size=3) | st.integers(), min_size=1, max_size=20), st.integers(2, 30)
)
def test_a_body_is_refused_from_one_value_too_many_on(document: list[Any], piece: int) -> None:
    body = json.dumps(document).encode()
    values = len(document) + sum(len(one) or 1 for one in document if isinstance(one, list))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_texts, "_PIECE", piece)
        patch.setattr(json_values, "MOST_VALUES", values + 1)
        check_values(body)
        patch.setattr(json_values, "MOST_VALUES", values)
        with pytest.raises(BodyTooLarge):
            check_values(body)


def test_a_string_without_its_end_is_left_to_the_decoder() -> None:
    check_values(b'["' + b"," * MOST_VALUES)
