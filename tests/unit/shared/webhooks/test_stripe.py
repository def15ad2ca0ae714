"""Stripe's signature: its examples, the header's grammar, its time, and its kinds of secrets."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings

from devhost.senders.stripe import signature, signed
from shared.webhooks.base import Options, UnusableSecret, WebhookRequest
from shared.webhooks.rejections import (
    BadSignature,
    StaleTimestamp,
)
from shared.webhooks.stripe import Stripe
from tests.unit.shared.webhooks.requests import NOW, delivered, request, trust
from tests.unit.shared.webhooks.tampering import Vector, changes, flips, refusal

SCHEME = Stripe()
SECRET = "whsec_an_invented_secret_of_the_tests"
KEY = SECRET.encode()
TIME = str(int(NOW.timestamp()))
SNAPSHOT: dict[str, Any] = {
    "id": "evt_1",
    "object": "event",
    "account": "acct_1",
    "created": 1785147295,
    "data": {"object": {"id": "in_1", "object": "invoice"}},
    "livemode": True,
    "type": "invoice.paid",
}
BODY = json.dumps(SNAPSHOT, indent=2).encode()
# https://github.com/stripe/stripe-dotnet/blob/master/src/StripeTests/Services/Events/EventUtilityTest.cs
FIXTURE = b"""{
  "id": "evt_123",
  "object": "event",
  "account": "acct_123",
  "api_version": "2017-05-25",
  "created": 1533204620,
  "data": {
    "object": {
      "id": "cus_123",
      "object": "customer",
      "created": 123456789,
      "email": "test@stripe.com",
      "livemode": false,
      "metadata": {}
    }
  },
  "livemode": false,
  "pending_webhooks": 1,
  "request": {
    "id": "req_123",
    "idempotency_key": "idempotency-key-123"
  },
  "type": "customer.created"
}
"""
V1 = "2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7"
V0 = "63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef"
PUBLISHED = Vector(
    name="stripe-dotnet",
    scheme=SCHEME,
    key=b"webhook_secret",
    request=request(FIXTURE, {"stripe-signature": f"t=1533204620,v1={V1}"}),
    signed_headers=("stripe-signature",),
    now=datetime.fromtimestamp(1533204620, UTC),
)


def with_header(header: str, body: bytes = BODY) -> WebhookRequest:
    return request(body, {"content-type": "application/json", "stripe-signature": header})


def accepted(header: str, body: bytes = BODY, *keys: bytes) -> bool:
    try:
        SCHEME.verify(with_header(header, body), trust(*(keys or [KEY])))
    except BadSignature:
        return False
    return True


GOOD = f"v1={signature(BODY, SECRET, TIME)}"
BAD = f"v1={'0' * 64}"


def test_the_published_example_verifies_also_beside_its_v0() -> None:
    assert refusal(PUBLISHED) is None
    headers = {"stripe-signature": f"t=1533204620,v1={V1},v0={V0}"}
    assert refusal(replace(PUBLISHED, request=request(FIXTURE, headers))) is None


@settings(max_examples=300)
@given(changes([PUBLISHED]))
def test_the_published_example_with_any_other_byte_anywhere_is_refused(changed: Vector) -> None:
    assert isinstance(refusal(changed), BadSignature), changed.name


def test_the_published_example_with_any_bit_turned_over_is_refused() -> None:
    found = [changed.name for changed in flips(PUBLISHED) if refusal(changed) is None]
    assert found == []


@pytest.mark.case(12)
@pytest.mark.parametrize("body", [FIXTURE.rstrip(b"\n"), FIXTURE.replace(b"\n", b"\r\n"), FIXTURE + b"\n"])
def test_line_ends_and_the_final_newline_are_signed(body: bytes) -> None:
    changed = replace(PUBLISHED, request=replace(PUBLISHED.request, body=body))
    assert isinstance(refusal(changed), BadSignature)


@pytest.mark.case(1)
def test_the_bytes_as_sent_verify_and_the_same_json_written_anew_does_not() -> None:
    assert accepted(f"t={TIME},{GOOD}", BODY)
    assert not accepted(f"t={TIME},{GOOD}", json.dumps(json.loads(BODY)).encode())


@pytest.mark.case(50)
def test_the_secret_is_the_key_as_text_and_never_its_decoded_base64() -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    header = f"t={TIME},v1={signature(BODY, secret, TIME)}"
    assert SCHEME.load_key(secret, Options()) == secret.encode()
    assert accepted(header, BODY, secret.encode())
    assert not accepted(header, BODY, base64.b64decode(secret.removeprefix("whsec_")))


@pytest.mark.case(19)
def test_spaces_after_the_commas_are_left_out() -> None:
    assert accepted(f"t={TIME}, {GOOD}, v0=bb")
    assert accepted(f" t={TIME} ,{GOOD} ")


@pytest.mark.case(20)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (1, 0, 2)])
def test_the_parts_of_the_header_come_in_any_order(order: tuple[int, ...]) -> None:
    parts = [f"t={TIME}", GOOD, f"v0={'1' * 64}"]
    assert accepted(",".join(parts[place] for place in order))


@pytest.mark.case(22)
@pytest.mark.parametrize(
    "header",
    [
        "",
        " ",
        "t",
        ",,",
        "t,,",
        "=,=",
        f"t=,{GOOD}",
        f"t,{GOOD},v0=",
        f"t={TIME},v1=",
        f"t={TIME},v1",
        f"t={TIME}",
        GOOD,
        f"t={TIME}={TIME},{GOOD}",
        f"t= {TIME},{GOOD}",
        f"t=0{TIME},{GOOD}",
        f"t=+{TIME},{GOOD}",
        f"t={TIME}.0,{GOOD}",
        f"t=-{TIME},{GOOD}",
        f"t={TIME[:5]}_{TIME[5:]},{GOOD}",
        f"t={'9' * 21},{GOOD}",
        f"T={TIME},{GOOD}",
        f"t={TIME},{GOOD.upper()}",
        f"t={TIME},{GOOD}=",
        f"t={TIME};{GOOD}",
    ],
)
def test_a_malformed_header_is_refused(header: str) -> None:
    assert not accepted(header)


@pytest.mark.case(22)
def test_a_time_in_other_digits_is_refused_even_if_it_was_signed_so() -> None:
    other = TIME.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩"))
    assert not accepted(f"t={other},v1={signature(BODY, SECRET, other)}")


@pytest.mark.case(23)
def test_while_a_secret_is_rolled_any_good_signature_will_do() -> None:
    assert accepted(f"t={TIME},{GOOD},{BAD}")
    assert accepted(f"t={TIME},{BAD},{GOOD}")
    rolling = delivered(signed(BODY, "whsec_the_newer_secret", now=NOW, rolled=[SECRET]))
    assert SCHEME.verify(rolling, trust(KEY)).secret_index == 0


@pytest.mark.case(23)
def test_only_the_first_ten_signatures_are_tried() -> None:
    assert accepted(",".join([f"t={TIME}", *[BAD] * 9, GOOD]))
    assert not accepted(",".join([f"t={TIME}", *[BAD] * 10, GOOD]))
    assert not accepted(",".join([f"t={TIME}", *[BAD] * 1000]))


@pytest.mark.case(24)
def test_a_signature_of_the_test_scheme_v0_proves_nothing() -> None:
    assert not accepted(f"t={TIME},{GOOD.replace('v1', 'v0')}")
    assert not accepted(f"t={TIME},{GOOD.replace('v1', 'v2')}")


@pytest.mark.case(26)
@pytest.mark.parametrize("separator", [",", ", "])
def test_a_repeated_header_is_refused_because_its_time_is_not_one(separator: str) -> None:
    header = f"t={TIME},{GOOD}"
    assert not accepted(separator.join([header, header]))


@pytest.mark.case(27)
@pytest.mark.parametrize("header", [f"t={TIME},v1=é", f"t={TIME},v1=\udcff", f"t=é,{GOOD}"])
def test_characters_beyond_ascii_in_the_header_are_refused(header: str) -> None:
    assert not accepted(header)


@pytest.mark.case(29)
def test_a_missing_signature_is_refused() -> None:
    with pytest.raises(BadSignature, match="missing"):
        SCHEME.verify(request(BODY, {}), trust(KEY))


@pytest.mark.case(54)
@pytest.mark.parametrize("seconds", [-300, 0, 300])
def test_a_time_within_the_tolerance_is_fresh(seconds: int) -> None:
    sent = delivered(signed(BODY, SECRET, now=NOW + timedelta(seconds=seconds)))
    assert SCHEME.verify(sent, trust(KEY)).secret_index == 0


@pytest.mark.case(54, 58)
@pytest.mark.parametrize("seconds", [-301, 301, 31_536_000])
def test_a_time_beyond_it_is_stale_to_both_sides_and_the_skew_is_told(seconds: int) -> None:
    sent = delivered(signed(BODY, SECRET, now=NOW + timedelta(seconds=seconds)))
    with pytest.raises(StaleTimestamp) as caught:
        SCHEME.verify(sent, trust(KEY))
    assert caught.value.skew_seconds == seconds


@pytest.mark.case(62)
def test_milliseconds_are_stale_even_when_signed() -> None:
    time = str(int(NOW.timestamp() * 1000))
    with pytest.raises(StaleTimestamp):
        SCHEME.verify(with_header(f"t={time},v1={signature(BODY, SECRET, time)}"), trust(KEY))


@pytest.mark.case(51)
@pytest.mark.parametrize(
    ("secret", "kind"),
    [
        ("sk_live_0123456789abcdef", "API key"),
        ("pk_test_0123456789abcdef", "API key"),
        ("rk_live_0123456789abcdef", "API key"),
        ("we_1Mr5jULkdIwHu7ix1ibLTM0x", "endpoint's id"),
        ("acct_1032D82eZvKYlo2C", "account's id"),
    ],
)
def test_another_kind_of_secret_is_refused_with_a_hint(secret: str, kind: str) -> None:
    with pytest.raises(UnusableSecret, match=f"{kind}.*begins with whsec_") as caught:
        SCHEME.load_key(secret, Options())
    assert secret not in str(caught.value)


@pytest.mark.case(51)
def test_an_event_signed_with_the_test_modes_secret_is_refused_on_the_live_route() -> None:
    sent = delivered(signed(BODY, "whsec_the_secret_of_test_mode", now=NOW))
    with pytest.raises(BadSignature):
        SCHEME.verify(sent, trust(KEY))
