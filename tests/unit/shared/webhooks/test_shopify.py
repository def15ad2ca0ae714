"""Shopify's signature, and what its headers tell of the event."""

import base64
import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings

from devhost.senders.shopify import signature, signed
from shared.webhooks.base import Options, UnusableSecret, WebhookEvent, WebhookRequest
from shared.webhooks.rejections import BadSignature, MalformedBody, UnsupportedMediaType
from shared.webhooks.shopify import Shopify
from tests.unit.shared.webhooks.requests import NOW, delivered, trust
from tests.unit.shared.webhooks.tampering import Vector, changes, flips, refusal

SCHEME = Shopify()
SECRET = "shpss_an_invented_secret_of_the_tests"
KEY = SECRET.encode()
BODY = '{"id":820982911946154508,"note":"Café ☕","total_price":"403.00"}'.encode()
GOOD = signature(BODY, SECRET)
MADE = Vector(
    name="made",
    scheme=SCHEME,
    secret=SECRET,
    request=delivered(signed(BODY, SECRET, now=NOW)),
    signed_headers=("x-shopify-hmac-sha256",),
)


def sent(body: bytes = BODY, **changed: str) -> WebhookRequest:
    """Further headers by name, with underscores for hyphens; an empty value leaves the header out."""
    incoming = delivered(signed(body, SECRET, now=NOW))
    headers = {**incoming.headers, **{name.replace("_", "-"): value for name, value in changed.items()}}
    return replace(incoming, headers={name: value for name, value in headers.items() if value})


def read(incoming: WebhookRequest) -> WebhookEvent:
    (event,) = SCHEME.read(incoming, trust())
    return event


def refused(incoming: WebhookRequest) -> bool:
    try:
        SCHEME.verify(incoming, trust(KEY))
    except BadSignature:
        return True
    return False


def test_the_signature_is_the_base64_of_the_bodys_hmac() -> None:
    assert base64.b64encode(hmac.new(KEY, BODY, hashlib.sha256).digest()).decode() == GOOD
    assert SCHEME.verify(sent(), trust(KEY)).secret_index == 0


@settings(max_examples=300)
@given(changes([MADE]))
def test_any_other_byte_anywhere_is_refused(changed: Vector) -> None:
    assert isinstance(refusal(changed), BadSignature), changed.name


def test_any_bit_turned_over_is_refused() -> None:
    assert refusal(MADE) is None
    assert [changed.name for changed in flips(MADE) if refusal(changed) is None] == []


@pytest.mark.case(26, 27, 29)
@pytest.mark.parametrize(
    "header",
    [
        "",
        " ",
        "é",
        "\udcff",
        GOOD.rstrip("="),
        f"{GOOD}=",
        f" {GOOD}",
        f"{GOOD}\n",
        f"{GOOD}, {GOOD}",
        f"{GOOD},{GOOD}",
        f"sha256={GOOD}",
        GOOD.swapcase(),
        base64.b64decode(GOOD).hex(),
    ],
)
def test_a_signature_of_another_form_is_refused(header: str) -> None:
    assert refused(sent(x_shopify_hmac_sha256=header))


@pytest.mark.case(53)
def test_for_an_hour_after_a_rotation_the_old_secret_still_verifies_and_is_told_of() -> None:
    assert SCHEME.verify(sent(), trust(b"the newer secret of the app", KEY)).secret_index == 1


@pytest.mark.case(51)
@pytest.mark.parametrize(
    "secret", ["shpat_0123456789abcdef", "shpca_0123456789abcdef", "shppa_0123456789abcdef"]
)
def test_an_access_token_in_the_place_of_the_secret_is_refused_with_a_hint(secret: str) -> None:
    with pytest.raises(UnusableSecret, match="it is an access token; the app's client secret is wanted"):
        SCHEME.load_key(secret, Options())


def test_an_event_is_read() -> None:
    event = read(
        sent(x_shopify_webhook_id="b54557e4", x_shopify_triggered_at="2026-07-27T10:14:55.123456789Z")
    )
    assert (event.event_id, event.event_type, event.account, event.event_time) == (
        "b54557e4",
        "orders/create",
        "example.myshopify.com:orders/create",
        datetime(2026, 7, 27, 10, 14, 55, 123456, tzinfo=UTC),
    )
    assert event.raw == BODY


def test_shops_and_topics_are_told_apart() -> None:
    accounts = {
        read(sent(x_shopify_shop_domain=shop, x_shopify_topic=topic)).account
        for shop in ("a.myshopify.com", "b.myshopify.com")
        for topic in ("orders/create", "orders/paid")
    }
    assert len(accounts) == 4


@pytest.mark.case(90)
def test_the_deliverys_id_decides_and_the_actions_id_only_where_it_is_missing() -> None:
    given = {"x_shopify_webhook_id": "webhook-1", "x_shopify_event_id": "event-1"}
    assert read(sent(BODY, **given)).event_id == "webhook-1"
    assert read(sent(BODY, **{**given, "x_shopify_webhook_id": ""})).event_id == "event-1"
    assert read(sent(BODY, **{**given, "x_shopify_webhook_id": " "})).event_id == "event-1"


@pytest.mark.case(98)
def test_without_any_id_the_body_is_the_identity() -> None:
    bare = {"x_shopify_webhook_id": "", "x_shopify_event_id": ""}
    event = read(sent(BODY, **bare))
    assert event.event_id.startswith("sha256-")
    assert event.event_id == read(sent(BODY, **bare)).event_id != read(sent(BODY + b" ", **bare)).event_id


@pytest.mark.parametrize("topic", ["", "Orders/create", "orders/", "/create", "a b", "orders/create\n", "é"])
def test_a_missing_or_odd_topic_is_malformed(topic: str) -> None:
    with pytest.raises(MalformedBody, match="X-Shopify-Topic"):
        read(sent(x_shopify_topic=topic))


@pytest.mark.case(112)
def test_a_topic_that_is_new_is_read_like_the_others() -> None:
    assert read(sent(x_shopify_topic="brand_new/thing_happened")).event_type == "brand_new/thing_happened"


@pytest.mark.case(17, 108)
@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'"x"', b"1", b"\xff", b"{", b"<order/>"])
def test_a_signed_body_of_another_shape_is_malformed(body: bytes) -> None:
    incoming = sent(body)
    assert SCHEME.verify(incoming, trust(KEY)).secret_index == 0
    with pytest.raises(MalformedBody):
        read(incoming)


@pytest.mark.case(15)
@pytest.mark.parametrize("changed", [{"content_type": "application/xml"}, {"content_encoding": "gzip"}])
def test_another_media_type_or_encoding_is_unsupported(changed: dict[str, str]) -> None:
    with pytest.raises(UnsupportedMediaType):
        read(sent(BODY, **changed))


@pytest.mark.case(104)
def test_shopify_is_answered_before_its_five_seconds_are_over() -> None:
    assert SCHEME.answer_within < 5
