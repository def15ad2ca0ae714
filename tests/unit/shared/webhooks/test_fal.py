"""fal.ai's signature with published keys, and its results."""

import base64
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings

from devhost.senders.fal import published, signed
from shared.webhooks.base import Jwk, Trust, UnusableSecret, WebhookEvent, WebhookRequest
from shared.webhooks.fal import Fal, FalOptions
from shared.webhooks.rejections import (
    BadSignature,
    MalformedBody,
    StaleTimestamp,
    UnknownSigningKey,
    UnsupportedMediaType,
)
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW, delivered
from tests.unit.shared.webhooks.tampering import Vector, changes, flips, refusal

SCHEME = Fal()
SEED = base64.b64encode(bytes(range(32))).decode()
OTHER = base64.b64encode(bytes(range(1, 33))).decode()
RESULT: dict[str, Any] = {
    "request_id": "123e4567-e89b-12d3-a456-426614174000",
    "gateway_request_id": "123e4567-e89b-12d3-a456-426614174000",
    "status": "OK",
    "payload": {"images": [{"url": "https://example.com/image.png"}]},
}
BODY = json.dumps(RESULT).encode()
MADE = Vector(
    name="made",
    scheme=SCHEME,
    options=FalOptions(),
    request=delivered(signed(BODY, SEED, now=NOW, request_id="req-1", user_id="user_204")),
    signed_headers=(
        "x-fal-webhook-request-id",
        "x-fal-webhook-user-id",
        "x-fal-webhook-timestamp",
        "x-fal-webhook-signature",
    ),
    published=[published(SEED)],
)


def trust(*keys: Jwk) -> Trust[FalOptions]:
    return Trust(options=FalOptions(), now=NOW, tolerance=FIVE_MINUTES, published=keys or [published(SEED)])


def with_headers(**changed: str) -> WebhookRequest:
    headers = {f"x-fal-webhook-{name.replace('_', '-')}": value for name, value in changed.items()}
    return replace(MADE.request, headers={**MADE.request.headers, **headers})


def read(document: Any) -> WebhookEvent:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    (event,) = SCHEME.read(delivered(signed(body, SEED, now=NOW)), trust())
    return event


@settings(max_examples=300)
@given(changes([MADE]))
def test_any_other_byte_anywhere_is_refused(changed: Vector) -> None:
    assert isinstance(refusal(changed), BadSignature), changed.name


def test_any_bit_turned_over_is_refused() -> None:
    assert refusal(MADE) is None
    assert [changed.name for changed in flips(MADE) if refusal(changed) is None] == []


def test_no_secret_is_said_to_have_matched() -> None:
    assert SCHEME.verify(MADE.request, trust()).secret_index is None


@pytest.mark.case(53)
def test_any_of_the_published_keys_may_have_signed() -> None:
    keys = [published(OTHER, "new"), published(SEED, "old")]
    assert SCHEME.verify(MADE.request, trust(*keys)).secret_index is None


@pytest.mark.parametrize("keys", [[published(OTHER)], [{"kty": "OKP"}]])
def test_a_key_that_is_not_published_here_may_be_new(keys: list[Jwk]) -> None:
    with pytest.raises(UnknownSigningKey):
        SCHEME.verify(MADE.request, trust(*keys))


GOOD = published(SEED)


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"x": None},
        {"x": ["a"]},
        {"x": ""},
        {"x": "é"},
        {"x": "A"},
        {"x": "!" * 43},
        {"x": GOOD["x"] + "AAAA"},
        {**GOOD, "crv": "X25519"},
        {**GOOD, "crv": None},
        {**GOOD, "x": "AQ" + "A" * 41},
    ],
)
def test_odd_keys_prove_nothing_and_do_not_stand_in_the_way(odd: Jwk) -> None:
    with pytest.raises(UnknownSigningKey):
        SCHEME.verify(MADE.request, trust(odd))
    assert SCHEME.verify(MADE.request, trust(odd, GOOD)).secret_index is None


def test_a_key_without_its_curve_named_is_taken_by_its_length() -> None:
    assert SCHEME.verify(MADE.request, trust({"x": GOOD["x"]})).secret_index is None


@pytest.mark.case(27, 29)
@pytest.mark.parametrize("name", ["request_id", "user_id", "timestamp", "signature"])
@pytest.mark.parametrize("value", ["", "\u00e9\udcff"])
def test_every_header_is_needed_and_none_may_be_odd(name: str, value: str) -> None:
    with pytest.raises(BadSignature):
        SCHEME.verify(with_headers(**{name: value}), trust())


@pytest.mark.parametrize(
    "signature",
    [
        "00" * 64,
        MADE.request.headers["x-fal-webhook-signature"].upper(),
        MADE.request.headers["x-fal-webhook-signature"] + "00",
        MADE.request.headers["x-fal-webhook-signature"][:-2],
        base64.b64encode(bytes.fromhex(MADE.request.headers["x-fal-webhook-signature"])).decode(),
    ],
)
def test_a_signature_of_another_form_is_refused(signature: str) -> None:
    with pytest.raises(BadSignature):
        SCHEME.verify(with_headers(signature=signature), trust())


@pytest.mark.parametrize(
    ("name", "value"),
    [("request_id", ""), ("user_id", ""), ("timestamp", ""), ("timestamp", "01"), ("signature", "zz")],
)
def test_a_request_of_another_form_asks_for_no_newer_keys(name: str, value: str) -> None:
    with pytest.raises(BadSignature) as caught:
        SCHEME.verify(with_headers(**{name: value}), trust())
    assert not isinstance(caught.value, UnknownSigningKey)


@pytest.mark.case(54, 58)
@pytest.mark.parametrize(("seconds", "fresh"), [(-301, False), (-300, True), (300, True), (301, False)])
def test_the_time_may_be_five_minutes_off_to_either_side(seconds: int, fresh: bool) -> None:
    incoming = delivered(signed(BODY, SEED, now=NOW + timedelta(seconds=seconds)))
    if fresh:
        assert SCHEME.verify(incoming, trust()).secret_index is None
    else:
        with pytest.raises(StaleTimestamp):
            SCHEME.verify(incoming, trust())


@pytest.mark.parametrize(("status", "kind"), [("OK", "request.ok"), ("ERROR", "request.error")])
def test_a_result_is_read(status: str, kind: str) -> None:
    event = read({**RESULT, "status": status})
    assert (event.event_id, event.event_type, event.account) == (RESULT["request_id"], kind, "user_204")


def test_a_retry_inside_the_gateway_is_the_same_event() -> None:
    again = read({**RESULT, "gateway_request_id": "another"})
    assert again.event_id == read(RESULT).event_id


@pytest.mark.case(17, 98, 108)
@pytest.mark.parametrize(
    "document",
    [b"", b"[]", b"null", b"1", b"\xff", {}, {**RESULT, "request_id": None}, {**RESULT, "status": 1}],
)
def test_a_signed_body_of_another_shape_is_malformed(document: Any) -> None:
    with pytest.raises(MalformedBody):
        read(document)


def test_another_media_type_is_unsupported() -> None:
    incoming = replace(MADE.request, headers={**MADE.request.headers, "content-type": "text/plain"})
    with pytest.raises(UnsupportedMediaType):
        SCHEME.read(incoming, trust())


@pytest.mark.case(115)
@pytest.mark.parametrize("name", ["x-fal-webhook-jwks", "x-fal-jwks-url", "jku"])
def test_the_address_of_the_keys_is_configured_and_never_taken_from_a_request(name: str) -> None:
    headers = {**MADE.request.headers, name: "http://169.254.169.254/keys"}
    assert SCHEME.verify(replace(MADE.request, headers=headers), trust()).secret_index is None
    assert SCHEME.key_set(FalOptions()) == "https://rest.fal.ai/.well-known/jwks.json"
    assert SCHEME.key_set(FalOptions(keys_url="https://keys.example.com/a")) == "https://keys.example.com/a"


def test_there_are_no_secrets() -> None:
    assert not SCHEME.wants_secrets(FalOptions())
    with pytest.raises(UnusableSecret, match="no secrets"):
        SCHEME.load_key("an invented secret of the tests", FalOptions())
