"""Standard Webhooks: signature, freshness, secrets, and the event in the body."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.webhooks.base import Options, UnusableSecret, WebhookRequest
from shared.webhooks.rejections import (
    BadSignature,
    MalformedBody,
    StaleTimestamp,
    UnsupportedMediaType,
)
from shared.webhooks.standard import Standard
from tests.unit.shared.webhooks.requests import (
    NOW,
    STANDARD_KEY,
    STANDARD_SECRET,
    request,
    standard_request,
    standard_signature,
    trust,
)

SCHEME = Standard()
BODY = b'{"type":"note.created","timestamp":"2026-07-27T10:14:59Z","data":{"text":"Hello"}}'


def verified_index(incoming: WebhookRequest, *keys: bytes, now: datetime = NOW) -> int | None:
    return SCHEME.verify(incoming, trust(*(keys or [STANDARD_KEY]), now=now)).secret_index


@given(
    body=st.binary(max_size=200),
    message_id=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40),
    key=st.binary(min_size=24, max_size=64),
)
def test_a_generated_message_verifies_with_its_own_key_only(body: bytes, message_id: str, key: bytes) -> None:
    incoming = standard_request(body, message_id=message_id, key=key)
    assert verified_index(incoming, key) == 0
    with pytest.raises(BadSignature):
        verified_index(incoming, bytes([key[0] ^ 1]) + key[1:])


GOOD = standard_signature("msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", str(int(NOW.timestamp())), BODY)


@pytest.mark.case(23, 30, 33)
@pytest.mark.parametrize(
    "header",
    [
        GOOD,
        f"v1,bm90IHRoaXMgb25l {GOOD}",
        f"v2,abc v1a,def {GOOD}",
        f"v1 v1, v1,a,b , {GOOD}",
        f"  {GOOD}\t",
        f"v1,é {GOOD}",
        f"{GOOD} v1,later",
    ],
)
def test_one_good_signature_of_version_v1_is_enough(header: str) -> None:
    assert verified_index(standard_request(BODY, signature=header)) == 0


@pytest.mark.case(23, 27, 30, 34)
@pytest.mark.parametrize(
    "header",
    [
        "",
        " ",
        "v1",
        "v1,",
        ",",
        GOOD.replace("v1,", "v1="),
        GOOD.removeprefix("v1,"),
        GOOD.replace("v1,", "V1,"),
        GOOD.replace("v1,", "v1a,"),
        GOOD.replace("v1,", "v2,"),
        GOOD.rstrip("="),
        f"{GOOD},{GOOD}",
        "v1,\udcff",
        " ".join([*["v1,bm90IHRoaXMgb25l"] * 10, GOOD]),
    ],
)
def test_a_header_without_a_good_signature_among_its_first_ten_is_refused(header: str) -> None:
    with pytest.raises(BadSignature):
        verified_index(standard_request(BODY, signature=header))


@pytest.mark.case(29, 98)
@pytest.mark.parametrize("missing", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_every_one_of_the_three_headers_is_needed(missing: str) -> None:
    headers = dict(standard_request(BODY).headers)
    del headers[missing]
    with pytest.raises(BadSignature, match="not all there"):
        verified_index(request(BODY, headers))


def test_the_svix_headers_are_taken_but_never_mixed_with_the_others() -> None:
    svix = standard_request(BODY, family="svix")
    assert verified_index(svix) == 0
    assert SCHEME.read(svix, trust())[0].event_id == "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"
    mixed = {name: value for name, value in svix.headers.items() if name != "svix-id"}
    with pytest.raises(BadSignature):
        verified_index(request(BODY, {**mixed, "webhook-id": "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"}))


def test_the_id_that_is_read_belongs_to_the_family_that_was_verified() -> None:
    headers = {**standard_request(BODY).headers, "svix-id": "msg_of_somebody_else"}
    incoming = request(BODY, headers)
    assert verified_index(incoming) == 0
    assert SCHEME.read(incoming, trust())[0].event_id == "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"


@pytest.mark.case(54)
@pytest.mark.parametrize("seconds", [-300, -1, 0, 299, 300])
def test_a_signed_time_within_the_tolerance_is_fresh(seconds: int) -> None:
    assert verified_index(standard_request(BODY, at=NOW + timedelta(seconds=seconds))) == 0


@pytest.mark.case(54, 56, 58)
@pytest.mark.parametrize(
    ("seconds", "where"), [(-301, "past"), (301, "future"), (31_536_000, "future"), (-14_400, "past")]
)
def test_a_signed_time_beyond_the_tolerance_is_stale_with_its_skew(seconds: int, where: str) -> None:
    with pytest.raises(StaleTimestamp, match=f"300 seconds in the {where}") as caught:
        verified_index(standard_request(BODY, at=NOW + timedelta(seconds=seconds)))
    assert caught.value.skew_seconds == seconds


@pytest.mark.case(62)
def test_milliseconds_are_stale_not_guessed_at() -> None:
    with pytest.raises(StaleTimestamp):
        verified_index(standard_request(BODY, timestamp=str(int(NOW.timestamp() * 1000))))


def test_a_forged_stale_request_is_told_of_its_signature_only() -> None:
    with pytest.raises(BadSignature):
        verified_index(standard_request(BODY, at=NOW - timedelta(days=1), key=b"another key of 24 bytes!"))


@pytest.mark.parametrize("timestamp", ["1.5", "-1", "+1", " 1", "1e9", "٣", "1" * 21, "0x10", "1_0", "1\n"])
def test_a_timestamp_that_is_no_whole_number_is_refused_even_if_signed(timestamp: str) -> None:
    with pytest.raises(BadSignature, match="whole number"):
        verified_index(standard_request(BODY, timestamp=timestamp))


@pytest.mark.case(53)
def test_during_rotation_the_answer_says_which_secret_matched() -> None:
    assert verified_index(standard_request(BODY), b"another key of 24 bytes!", STANDARD_KEY) == 1


@pytest.mark.parametrize(
    "secret",
    [
        STANDARD_SECRET,
        f"v1,{STANDARD_SECRET}",
        STANDARD_SECRET.removeprefix("whsec_"),
        STANDARD_SECRET.rstrip("="),
    ],
)
def test_a_secret_is_taken_with_or_without_prefix_and_padding(secret: str) -> None:
    assert SCHEME.load_key(secret, Options()) == STANDARD_KEY


@pytest.mark.case(41, 44, 48)
@pytest.mark.parametrize(
    ("secret", "problem"),
    [
        ("whsec_", "24 to 64 bytes"),
        ("whsec_-_-_", "base64"),
        ("whsec_" + base64.urlsafe_b64encode(b"\xff" * 32).decode(), "base64"),
        ("whsec_" + base64.b64encode(b"\x01" * 23).decode(), "24 to 64 bytes"),
        ("whsec_" + base64.b64encode(b"\x01" * 65).decode(), "24 to 64 bytes"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8I\nLPZIo2LaLaSw", "base64"),
        ("whsec_" + base64.b64encode(b"\x01" * 32).decode()[:-2] + "F=", "base64"),
        ("whsec_é" + "A" * 40, "base64"),
        ("*** a bypass of old ***", "base64"),
    ],
)
def test_a_secret_that_is_no_canonical_key_is_unusable_and_not_shown(secret: str, problem: str) -> None:
    with pytest.raises(UnusableSecret, match=problem) as caught:
        SCHEME.load_key(secret, Options())
    assert secret.removeprefix("whsec_") not in str(caught.value) or secret == "whsec_"


def test_an_event_is_read_with_its_time() -> None:
    (event,) = SCHEME.read(standard_request(BODY), trust())
    assert (event.event_id, event.event_type, event.account) == (
        "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W",
        "note.created",
        "",
    )
    assert event.event_time == datetime(2026, 7, 27, 10, 14, 59, tzinfo=UTC)
    assert event.raw == BODY


@pytest.mark.parametrize("when", ["yesterday", "2026-07-27T10:14:59", 5, None, "0001-01-01T00:00:00+23:59"])
def test_a_time_that_cannot_be_read_is_left_out(when: object) -> None:
    body = json.dumps({"type": "a", "timestamp": when})
    assert SCHEME.read(standard_request(body.encode()), trust())[0].event_time is None


def test_a_body_without_type_has_its_status_as_type_and_without_either_none() -> None:
    body = b'{"id":"p1","status":"succeeded","completed_at":"2026-07-27T10:14:59.123456Z"}'
    (event,) = SCHEME.read(standard_request(body), trust())
    assert (event.event_type, event.event_time) == (
        "succeeded",
        datetime(2026, 7, 27, 10, 14, 59, 123456, tzinfo=UTC),
    )
    for bare in (b'{"id":"p1"}', b'{"status":200}'):
        assert SCHEME.read(standard_request(bare), trust())[0].event_type == ""


@pytest.mark.parametrize("body", [b'{"type":["a"]}', b'{"type":null,"status":"a"}'])
def test_a_type_that_is_no_text_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody, match="`type`"):
        SCHEME.read(standard_request(body), trust())


def test_structured_json_media_types_are_read() -> None:
    assert SCHEME.read(standard_request(BODY, content_type="application/cloudevents+json"), trust())


@pytest.mark.parametrize(
    "kind", ["", "text/json+json", "application/xml", "application/x-www-form-urlencoded"]
)
def test_another_media_type_is_unsupported(kind: str) -> None:
    with pytest.raises(UnsupportedMediaType):
        SCHEME.read(standard_request(BODY, content_type=kind), trust())
