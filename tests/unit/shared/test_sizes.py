"""Sizes as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("0B", 0), ("10B", 10), ("512KiB", 524_288), ("20MiB", 20_971_520), ("1GiB", 1_073_741_824)],
)
def test_a_size_is_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "5", "20MB", "20 MiB", "1.5MiB", "-1B", "20mib", "٢B", "1B\n"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match='a size such as "512KiB" or "20MiB"'):
        parse_size(text)


@given(st.integers(0, 10**8), st.sampled_from([1, 1024, 1024**2, 1024**3]))
def test_a_size_survives_being_written_and_read(count: int, unit: int) -> None:
    assert parse_size(format_size(count * unit)) == count * unit
