"""Every scheme is found by its name, and none raises anything but its own refusal."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.webhooks.base import Reply, Verified, WebhookEvent, WebhookRequest
from shared.webhooks.registry import scheme_named, scheme_names
from shared.webhooks.rejections import MalformedBody, WebhookRejected
from tests.unit.shared.webhooks.requests import (
    GITHUB_KEY,
    STANDARD_KEY,
    github_request,
    request,
    standard_request,
    trust,
)

HEADERS = [
    "content-encoding",
    "content-type",
    "svix-id",
    "svix-signature",
    "svix-timestamp",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
    "x-github-delivery",
    "x-github-event",
    "x-github-hook-id",
    "x-hub-signature-256",
]
ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=80)
HOSTILE = ANY_TEXT | st.sampled_from(
    [
        "sha256=" + "0" * 64,
        "v1,AAAA v1",
        "1785147300",
        "9" * 20,
        "application/json",
        "application/x-www-form-urlencoded",
        "issues",
    ]
)
REQUESTS = st.builds(
    WebhookRequest,
    method=ANY_TEXT,
    headers=st.dictionaries(st.sampled_from(HEADERS), HOSTILE),
    query=ANY_TEXT,
    url=ANY_TEXT,
    body=st.binary(max_size=200),
)


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | ANY_TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["action", "type", "timestamp"]), inner)
    ),
)


def outcome(call: Callable[[], Verified | Reply | tuple[WebhookEvent, ...]]) -> object:
    """What `call` returns, or its refusal; any other exception is the test's failure."""
    try:
        return call()
    except WebhookRejected as refusal:
        return refusal


def test_each_scheme_is_found_by_its_own_name() -> None:
    assert scheme_names() == ("github", "standard")
    assert all(scheme_named(name).name == name for name in scheme_names())


@pytest.mark.fuzz
@pytest.mark.parametrize("name", scheme_names())
@settings(max_examples=500)
@given(incoming=REQUESTS, keys=st.lists(st.binary(), max_size=3))
@example(incoming=request(b"", {"x-hub-signature-256": "sha256=é"}), keys=[b""])
@example(
    incoming=request(
        b"\xff", {"webhook-id": "\ud800", "webhook-timestamp": "1", "webhook-signature": "v1,é"}
    ),
    keys=[b""],
)
def test_whatever_the_bytes_verify_and_read_raise_their_own_refusal_only(
    name: str, incoming: WebhookRequest, keys: list[bytes]
) -> None:
    scheme = scheme_named(name)
    verdict = outcome(lambda: scheme.verify(incoming, trust(*keys)))
    assert not isinstance(verdict, WebhookRejected) or verdict.status == 401
    found = outcome(lambda: scheme.read(incoming, trust()))
    assert not isinstance(found, WebhookRejected) or found.status in {400, 401, 415}
    assert all(not isinstance(e, WebhookRejected) or str(e).isascii() for e in (verdict, found))


@pytest.mark.fuzz
@pytest.mark.parametrize("name", scheme_names())
@given(document=JSON_LIKE, noise=st.binary(max_size=4))
def test_a_verified_event_of_any_shape_is_read_or_refused_as_malformed(
    name: str, document: Any, noise: bytes
) -> None:
    body = json.dumps(document).encode() + noise
    incoming = github_request(body) if name == "github" else standard_request(body)
    scheme = scheme_named(name)
    key = GITHUB_KEY if name == "github" else STANDARD_KEY
    assert scheme.verify(incoming, trust(key)).secret_index == 0
    match outcome(lambda: scheme.read(incoming, trust())):
        case MalformedBody():
            pass
        case [WebhookEvent() as event]:
            (event.event_id + event.event_type + event.account).encode()
            assert event.raw == body
        case other:
            pytest.fail(f"neither an event nor malformed: {other!r}")
