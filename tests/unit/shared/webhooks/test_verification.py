"""A forgery is the sender's fault; a missing secret is ours."""

import pytest

from shared.webhooks.github import GitHub
from shared.webhooks.rejections import BadSignature
from shared.webhooks.secrets import SourceKeys, SourceNotConfigured
from shared.webhooks.verification import verify
from tests.unit.shared.webhooks.requests import GITHUB_KEY, github_request, trust

BODY = b'{"a":1}'
PROBLEM = "The setting NEW_SECRET cannot be used as a secret: it is empty."


def keys(*found: bytes, places: tuple[int, ...] = (0,), problems: tuple[str, ...] = ()) -> SourceKeys:
    return SourceKeys(keys=found, places=places, problems=problems)


@pytest.mark.case(53)
def test_the_index_is_the_place_in_the_configured_list() -> None:
    found = keys(GITHUB_KEY, places=(1,), problems=(PROBLEM,))
    assert verify(GitHub(), github_request(BODY), found, trust()).secret_index == 1


@pytest.mark.case(42)
def test_without_any_secret_nothing_is_verified() -> None:
    with pytest.raises(SourceNotConfigured) as caught:
        verify(GitHub(), github_request(BODY), keys(places=(), problems=(PROBLEM,)), trust())
    assert caught.value.code == "source_not_configured"
    assert "NEW_SECRET" not in str(caught.value)


def test_a_mismatch_with_every_secret_loaded_is_a_forgery() -> None:
    with pytest.raises(BadSignature):
        verify(GitHub(), github_request(BODY, b"another key"), keys(GITHUB_KEY), trust())


def test_a_mismatch_with_a_secret_that_could_not_be_loaded_is_our_fault() -> None:
    found = keys(GITHUB_KEY, places=(1,), problems=(PROBLEM,))
    with pytest.raises(SourceNotConfigured):
        verify(GitHub(), github_request(BODY, b"another key"), found, trust())


@pytest.mark.case(41)
def test_an_empty_key_is_never_tried() -> None:
    with pytest.raises(SourceNotConfigured):
        verify(GitHub(), github_request(BODY, b""), keys(places=()), trust())
