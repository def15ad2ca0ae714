"""What an adapter saw, and what that means: one table for every provider."""

from datetime import timedelta

import pytest

from shared.calls.failures import EXECUTED_NOTHING, CallFailed, FailureKind, Sighting, classify

K = FailureKind


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (Sighting(provider="video", sent=False), K.NOT_SENT),
        (Sighting(provider="video"), K.UNCLEAR),
        (Sighting(provider="video", status=200, garbled=True), K.UNCLEAR),
        (Sighting(provider="video", status=302), K.UNCLEAR),
        (Sighting(provider="video", status=400), K.REJECTED),
        (Sighting(provider="video", status=401), K.REJECTED),
        (Sighting(provider="video", status=404), K.REJECTED),
        (Sighting(provider="video", status=408), K.UNCLEAR),
        (Sighting(provider="video", status=409), K.REJECTED),
        (Sighting(provider="video", status=422), K.REJECTED),
        (Sighting(provider="video", status=429), K.THROTTLED),
        (Sighting(provider="video", status=500), K.UNCLEAR),
        (Sighting(provider="video", status=502), K.UNCLEAR),
        (Sighting(provider="video", status=503), K.UNAVAILABLE),
        (Sighting(provider="video", status=504), K.UNCLEAR),
    ],
)
def test_a_sighting_has_one_meaning(seen: Sighting, kind: FailureKind) -> None:
    assert classify(seen).kind is kind


def test_only_an_unclear_failure_leaves_open_what_was_executed() -> None:
    assert frozenset(K) - EXECUTED_NOTHING == {K.UNCLEAR}


def test_a_failure_keeps_status_and_retry_after_and_says_them_in_our_words() -> None:
    failure = classify(Sighting(provider="video", status=429, retry_after=timedelta(seconds=7)))
    assert (failure.status, failure.retry_after) == (429, timedelta(seconds=7))
    assert str(failure) == "video: throttled (status 429)."


def test_every_failure_but_a_refusal_speaks_of_the_providers_health() -> None:
    assert [kind for kind in K if not CallFailed("video", kind).outage] == [K.REJECTED]


def test_an_answer_that_cannot_be_read_is_told_from_none() -> None:
    assert str(classify(Sighting(provider="openai"))) == "openai: unclear (no answer)."
    garbled = "openai: unclear (an answer that cannot be read)."
    assert str(classify(Sighting(provider="openai", garbled=True))) == garbled
    told = "openai: unclear (an answer that cannot be read, status 200)."
    assert str(classify(Sighting(provider="openai", status=200, garbled=True))) == told
