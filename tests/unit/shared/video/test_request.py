"""What a job of `generate_video` may ask for."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.tasks.options import GenerateVideoOptions
from shared.video.errors import VideoRequestInvalid
from shared.video.provider import VideoRequest
from shared.video.request import read_order

OPTIONS = GenerateVideoOptions()


def read(document: object) -> VideoRequest:
    return read_order(json.dumps(document).encode(), OPTIONS).request


def test_an_order_takes_from_the_options_what_it_leaves_open() -> None:
    assert read({"prompt": "A cat on a roof"}) == VideoRequest(
        prompt="A cat on a roof", model="sora-2", seconds="4", size="720x1280"
    )


@pytest.mark.parametrize("seconds", [8, "8"])
def test_an_order_says_its_seconds_as_a_number_or_as_text(seconds: object) -> None:
    order = read({"prompt": "A cat", "seconds": seconds, "size": "1280x720"})
    assert (order.seconds, order.size) == ("8", "1280x720")


def test_a_null_leaves_it_open_as_a_route_does() -> None:
    assert read({"prompt": "A cat", "seconds": None, "size": None}).seconds == "4"


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([], ""),
        ("A cat", ""),
        ({}, '"prompt" must be a text that is not empty'),
        ({"prompt": ""}, '"prompt" must be a text that is not empty'),
        ({"prompt": " \n"}, '"prompt" must be a text that is not empty'),
        ({"prompt": 5}, '"prompt" must be a text that is not empty'),
        ({"prompt": "A cat", "seconds": 5}, '"seconds" must be 4, 8 or 12'),
        ({"prompt": "A cat", "seconds": True}, '"seconds" must be 4, 8 or 12'),
        ({"prompt": "A cat", "seconds": 4.0}, '"seconds" must be 4, 8 or 12'),
        ({"prompt": "A cat", "size": "big"}, '"size" must be width and height such as "1280x720"'),
        ({"prompt": "A cat", "size": "1280x720\n"}, '"size" must be width and height such as "1280x720"'),
        ({"prompt": "A cat", "marked": 1}, 'only "prompt", "seconds" and "size" are known'),
    ],
)
def test_what_is_no_order_is_told_what_is_wrong(document: object, told: str) -> None:
    with pytest.raises(VideoRequestInvalid) as caught:
        read(document)
    assert told in str(caught.value)
    assert "The input must be a JSON object" in str(caught.value)
    assert "marked" not in str(caught.value)


def test_a_prompt_over_the_limit_is_refused() -> None:
    options = GenerateVideoOptions.model_validate({"max_prompt": "1KiB"})
    content = json.dumps({"prompt": "ü" * 513}).encode()
    with pytest.raises(VideoRequestInvalid, match="longer than 1KiB"):
        read_order(content, options)
    assert read_order(json.dumps({"prompt": "ü" * 512}).encode(), options).request.prompt == "ü" * 512


@given(st.binary(max_size=100) | st.text(max_size=60).map(str.encode) | st.just(b"[" * 5000))
def test_any_bytes_are_an_order_or_refused(content: bytes) -> None:
    try:
        read_order(content, OPTIONS)
    except VideoRequestInvalid as error:
        assert "Correct it and resubmit" in str(error)  # noqa: PT017  either way is right


def test_only_the_input_makes_it_this_video() -> None:
    """A change of the options disturbs no video on its way."""
    content = json.dumps({"prompt": "A cat", "seconds": 8}).encode()
    other = GenerateVideoOptions(model="sora-2-pro", seconds="12", size="1280x720")
    order = read_order(content, OPTIONS)
    assert order.identity == read_order(content, other, "https://example.com/cb").identity
    assert order.identity != read_order(b'{"prompt": "A dog", "seconds": 8}', OPTIONS).identity
    assert order.identity != read_order(b'{"prompt": "A cat", "seconds": 4}', OPTIONS).identity
    assert "A cat" not in json.dumps(dict(order.identity))


def test_a_prompt_is_in_no_repr() -> None:
    assert "A cat" not in repr(read_order(b'{"prompt": "A cat"}', OPTIONS, "https://example.com/cb"))
