"""Every scheme is found by its name, and none raises anything but its own refusal."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.jobs import job_id_for
from shared.webhooks.base import Reply, Trust, Verified, WebhookEvent, WebhookRequest
from shared.webhooks.registry import scheme_named, scheme_names
from shared.webhooks.rejections import WebhookRejected
from tests.unit.shared.webhooks.hostile import BODIES, HEADERS, REQUESTS
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW, request
from tests.unit.shared.webhooks.sources import EXAMPLES, Example


def trust(name: str) -> Trust[Any]:
    found = EXAMPLES[name]
    keys = found.keys()
    return Trust(
        options=found.options,
        now=NOW,
        tolerance=FIVE_MINUTES,
        keys=keys.keys,
        named=keys.named,
        published=found.published,
    )


TRUSTS = {name: trust(name) for name in EXAMPLES}
WELL_KNOWN = {
    "content-type": "application/json",
    "webhook-id": "msg_1",
    "webhook-timestamp": "1",
    "webhook-signature": "v1,AAAA",
    "x-github-event": "issues",
    "x-shopify-topic": "orders/create",
}


def outcome(call: Callable[[], Verified | Reply | tuple[WebhookEvent, ...] | None]) -> object:
    """What `call` returns, or its refusal; any other exception is the test's failure."""
    try:
        return call()
    except WebhookRejected as refusal:
        return refusal


def refused_with(found: object, *statuses: int) -> bool:
    return not isinstance(found, WebhookRejected) or (found.status in statuses and str(found).isascii())


def test_each_scheme_is_found_by_its_own_name_and_has_an_example() -> None:
    assert all(scheme_named(name).name == name for name in scheme_names())
    assert {found.scheme for found in EXAMPLES.values()} == set(scheme_names())


@pytest.mark.parametrize("found", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_every_example_has_usable_keys_where_its_scheme_wants_some(found: Example) -> None:
    assert bool(found.keys().keys) is found.implementation.wants_secrets(found.options) or found.secrets


@pytest.mark.fuzz
@pytest.mark.case(6, 27)
@settings(max_examples=500, deadline=None)
@given(incoming=REQUESTS)
@example(incoming=request(b"", dict.fromkeys(HEADERS, "é")))
@example(incoming=request(b"\xff", dict.fromkeys(HEADERS, "\ud800")))
@example(incoming=request(b"", {"x-hub-signature-256": "sha256=é"}))
@example(
    incoming=request(b"", {"webhook-id": "\ud800", "webhook-timestamp": "1", "webhook-signature": "v1,é"})
)
def test_whatever_the_bytes_verify_read_and_greet_raise_their_own_refusal_only(
    incoming: WebhookRequest,
) -> None:
    for name, against in TRUSTS.items():
        scheme = EXAMPLES[name].implementation
        verdict = outcome(partial(scheme.verify, incoming, against))
        assert isinstance(verdict, WebhookRejected), name
        assert refused_with(verdict, 401), name
        assert refused_with(outcome(partial(scheme.read, incoming, against)), 400, 401, 415), name
        assert refused_with(outcome(partial(scheme.greet, incoming, against)), 400, 401, 405), name


@pytest.mark.fuzz
@pytest.mark.case(108)
@settings(max_examples=600, deadline=None)
@given(document=BODIES, many=st.booleans(), noise=st.just(b"") | st.binary(max_size=4))
def test_a_verified_body_of_any_shape_is_events_or_a_handshake_or_refused(
    document: Any, many: bool, noise: bytes
) -> None:
    body = json.dumps([document] if many else document).encode() + noise
    for name, against in TRUSTS.items():
        found = outcome(partial(EXAMPLES[name].implementation.read, request(body, WELL_KNOWN), against))
        assert refused_with(found, 400, 401, 415), name
        for event in found if isinstance(found, tuple) else ():
            assert job_id_for("source", event.account, event.event_id), name
            event.event_type.encode()
            assert len(event.event_type.splitlines()) <= 1, name
            assert isinstance(json.loads(event.raw), dict), name
