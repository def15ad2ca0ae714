"""A sender described in pipeline.toml: every form of signature, time and key that it can have."""

import base64
import contextlib
import hashlib
import hmac
import itertools
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings

from devhost.senders.generic_hmac import signed
from shared.webhooks.base import Trust, UnusableSecret, WebhookRequest
from shared.webhooks.generic_hmac import GenericHmac
from shared.webhooks.hmac_options import HmacOptions
from shared.webhooks.rejections import (
    BadSignature,
    MalformedBody,
    StaleTimestamp,
)
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW, delivered
from tests.unit.shared.webhooks.tampering import Vector, changes, flips, refusal

SCHEME = GenericHmac()
SECRET = "an invented secret of the tests"
BODY = b'{"event":"note.added","owner":{"id":7},"at":1785147295,"text":"Hello"}'
TIMED: dict[str, Any] = {"signed": "{timestamp}.{body}", "timestamp_header": "X-Time"}
FORMS: dict[str, dict[str, Any]] = {
    "plain": {"header": "X-Signature"},
    "prefix": {"header": "X-Signature", "prefix": "sha256="},
    "sha1": {"header": "X-Signature", "algorithm": "sha1"},
    "sha512-base64": {"header": "X-Signature", "algorithm": "sha512", "encoding": "base64"},
    "time": {"header": "X-Signature", "signed": "{timestamp}{body}", "timestamp_header": "X-Time"},
    "zoom-like": {
        "header": "X-Signature",
        "prefix": "v0=",
        "signed": "v0:{timestamp}:{body}",
        "timestamp_header": "X-Time",
    },
    "twitch-like": {
        "header": "X-Signature",
        "prefix": "sha256=",
        "signed": "{id}{timestamp}{body}",
        "timestamp_header": "X-Time",
        "timestamp_format": "iso8601",
        "id_header": "X-Id",
    },
    "standard-with-a-text-key": {
        "header": "webhook-signature",
        "prefix": "v1,",
        "encoding": "base64",
        "signed": "{id}.{timestamp}.{body}",
        "timestamp_header": "webhook-timestamp",
        "id_header": "webhook-id",
    },
    "milliseconds-after": {
        "header": "X-Signature",
        "signed": "{body}.{timestamp}",
        "timestamp_header": "X-Time",
        "timestamp_format": "milliseconds",
    },
}


def options(**table: Any) -> HmacOptions:
    return HmacOptions.model_validate({"header": "X-Signature", **table})


def vector(name: str) -> Vector:
    form = FORMS[name]
    request = delivered(signed(BODY, SECRET, now=NOW, **form))
    headers = ["header"] + [
        f"{place}_header" for place in ("timestamp", "id") if f"{{{place}}}" in form.get("signed", "")
    ]
    return Vector(
        name=name,
        scheme=SCHEME,
        options=HmacOptions.model_validate(form),
        secret=SECRET,
        request=request,
        signed_headers=tuple(form[header].lower() for header in headers),
    )


VECTORS = [vector(name) for name in FORMS]


def trust(found: HmacOptions, *keys: bytes, tolerance: timedelta = FIVE_MINUTES) -> Trust[HmacOptions]:
    return Trust(options=found, now=NOW, tolerance=tolerance, keys=keys or [SECRET.encode()])


def sent(body: bytes = BODY, now: datetime = NOW, **table: Any) -> WebhookRequest:
    return delivered(signed(body, SECRET, now=now, **{"header": "X-Signature", **table}))


def refused(incoming: WebhookRequest, found: HmacOptions) -> bool:
    try:
        SCHEME.verify(incoming, trust(found))
    except BadSignature:
        return True
    return False


@pytest.mark.parametrize("good", VECTORS, ids=lambda good: good.name)
def test_every_form_verifies_until_any_bit_is_turned_over(good: Vector) -> None:
    assert refusal(good) is None
    assert [changed.name for changed in flips(good) if refusal(changed) is None] == []


@settings(max_examples=300)
@given(changes(VECTORS))
def test_any_other_byte_anywhere_is_refused(changed: Vector) -> None:
    assert isinstance(refusal(changed), BadSignature), changed.name


def test_the_signature_is_what_the_template_says() -> None:
    message = b"7:" + str(int(NOW.timestamp())).encode() + b"|" + BODY + b"!"
    form = {"signed": "{id}:{timestamp}|{body}!", "timestamp_header": "x-time", "id_header": "x-id"}
    digest = hmac.new(SECRET.encode(), message, hashlib.sha256).hexdigest()
    incoming = replace(
        sent(),
        headers={"x-signature": digest, "x-time": str(int(NOW.timestamp())), "x-id": "7"},
    )
    assert SCHEME.verify(incoming, trust(options(**form))).secret_index == 0


GOOD = sent().headers["x-signature"]


@pytest.mark.case(27, 29, 34)
@pytest.mark.parametrize(
    ("prefix", "header"),
    [
        ("", ""),
        ("", " "),
        ("", "é"),
        ("", "\udcff"),
        ("", f"sha256={GOOD}"),
        ("", GOOD.upper()),
        ("", f"{GOOD}, {GOOD}"),
        ("", base64.b64encode(bytes.fromhex(GOOD)).decode()),
        ("sha256=", GOOD),
        ("sha256=", "sha256="),
        ("sha256=", f"SHA256={GOOD}"),
        ("sha256=", f"sha256= {GOOD}"),
        ("v1=", f"v1,{GOOD}"),
    ],
)
def test_a_signature_of_another_form_is_refused(prefix: str, header: str) -> None:
    assert refused(replace(sent(), headers={"x-signature": header}), options(prefix=prefix))


@pytest.mark.parametrize("header", ["", "sha256="])
def test_a_signature_that_is_not_there_is_said_to_be_missing(header: str) -> None:
    with pytest.raises(BadSignature, match="missing"):
        SCHEME.verify(replace(sent(), headers={"x-signature": header}), trust(options(prefix=header)))


@pytest.mark.case(59)
def test_only_a_signed_time_counts() -> None:
    old = sent(now=NOW - timedelta(hours=1), **TIMED)
    with pytest.raises(StaleTimestamp):
        SCHEME.verify(old, trust(options(**TIMED)))
    for name in ("x-time", "x-timestamp", "date"):
        fresh = replace(old, headers={**old.headers, name: str(int(NOW.timestamp()))})
        with pytest.raises((StaleTimestamp, BadSignature)):
            SCHEME.verify(fresh, trust(options(**TIMED)))


@pytest.mark.case(55)
def test_a_sender_whose_retries_keep_their_first_time_gets_a_wider_tolerance() -> None:
    retried = sent(now=NOW - timedelta(hours=4), **TIMED)
    with pytest.raises(StaleTimestamp):
        SCHEME.verify(retried, trust(options(**TIMED)))
    assert SCHEME.verify(retried, trust(options(**TIMED), tolerance=timedelta(days=1))).secret_index == 0


@pytest.mark.case(54, 58, 62)
@pytest.mark.parametrize("unit", ["seconds", "milliseconds", "iso8601"])
@pytest.mark.parametrize(("seconds", "fresh"), [(-301, False), (-300, True), (300, True), (301, False)])
def test_the_time_is_read_in_the_sources_unit(unit: str, seconds: int, fresh: bool) -> None:
    form: dict[str, Any] = {**TIMED, "timestamp_format": unit}
    incoming = sent(now=NOW + timedelta(seconds=seconds), **form)
    if fresh:
        assert SCHEME.verify(incoming, trust(options(**form))).secret_index == 0
    else:
        with pytest.raises(StaleTimestamp) as caught:
            SCHEME.verify(incoming, trust(options(**form)))
        assert caught.value.skew_seconds == seconds


@pytest.mark.case(62)
@pytest.mark.parametrize("unit", ["seconds", "iso8601"])
def test_milliseconds_are_not_guessed_at(unit: str) -> None:
    incoming = sent(**TIMED, timestamp_format="milliseconds")
    with pytest.raises((StaleTimestamp, BadSignature)):
        SCHEME.verify(incoming, trust(options(**TIMED, timestamp_format=unit)))


@pytest.mark.parametrize(
    "time", ["", " ", "é", "+1", "01", "1.5", "1e9", "9" * 21, "2026-07-27T10:15:00", "now"]
)
@pytest.mark.parametrize("unit", ["seconds", "milliseconds", "iso8601"])
def test_a_time_of_another_form_is_refused(time: str, unit: str) -> None:
    form: dict[str, Any] = {**TIMED, "timestamp_format": unit}
    digest = hmac.new(SECRET.encode(), f"{time}.".encode() + BODY, hashlib.sha256).hexdigest()
    assert refused(replace(sent(), headers={"x-signature": digest, "x-time": time}), options(**form))


def test_a_signed_id_is_needed() -> None:
    form = {"signed": "{id}.{body}", "id_header": "X-Id"}
    digest = hmac.new(SECRET.encode(), b"." + BODY, hashlib.sha256).hexdigest()
    assert refused(replace(sent(), headers={"x-signature": digest}), options(**form))


@pytest.mark.case(46)
def test_the_form_of_the_key_is_configured_and_never_guessed() -> None:
    secret = base64.b64encode(bytes(range(32))).decode()
    keys = {form: SCHEME.load_key(secret, options(key_encoding=form)) for form in ("text", "base64")}
    assert keys == {"text": secret.encode(), "base64": bytes(range(32))}
    for form, key in keys.items():
        incoming = delivered(signed(BODY, secret, now=NOW, key_encoding=form))
        assert SCHEME.verify(incoming, trust(options(), key)).secret_index == 0
        (other,) = (found for name, found in keys.items() if name != form)
        with pytest.raises(BadSignature):
            SCHEME.verify(incoming, trust(options(), other))


@pytest.mark.case(41, 48)
@pytest.mark.parametrize(
    ("encoding", "secret", "problem"),
    [
        ("text", "fifteen letters", "shorter than 16 bytes"),
        ("hex", "00" * 15, "shorter than 16 bytes"),
        ("hex", "0g" * 16, "it is not hex"),
        ("hex", "00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff", "it is not hex"),
        ("hex", "0" * 33, "it is not hex"),
        ("hex", "\u0660" * 32, "it is not hex"),
        ("base64", base64.b64encode(bytes(15)).decode(), "shorter than 16 bytes"),
        ("base64", "-_" * 16, "it is not base64"),
        ("base64", base64.b64encode(bytes(16)).decode().rstrip("="), "it is not base64"),
        ("base64", "A" * 21 + "B==", "it is not base64"),
    ],
)
def test_a_secret_that_gives_no_good_key_is_unusable_and_not_shown(
    encoding: str, secret: str, problem: str
) -> None:
    with pytest.raises(UnusableSecret, match=problem) as caught:
        SCHEME.load_key(secret, options(key_encoding=encoding))
    assert secret not in str(caught.value)


def test_during_rotation_the_answer_says_which_secret_matched() -> None:
    assert SCHEME.verify(sent(), trust(options(), b"the newer secret", SECRET.encode())).secret_index == 1


def test_a_time_is_signed_where_it_has_a_header() -> None:
    assert not SCHEME.signs_time(options())
    assert SCHEME.signs_time(options(signed="{timestamp}{body}", timestamp_header="X-Time"))


@pytest.mark.parametrize("timestamp_format", ["seconds", "milliseconds", "iso8601"])
@pytest.mark.parametrize(
    "places", [("timestamp", "body"), ("body", "timestamp"), ("id", "timestamp", "body")]
)
def test_what_may_stand_side_by_side_can_be_parted_in_one_way_only(
    places: tuple[str, ...], timestamp_format: str
) -> None:
    """Every other cut of what was signed has the same signature, and none of them passes."""
    headers = {"timestamp": "x-time", "id": "x-id"}
    table: dict[str, Any] = {
        "signed": "".join(f"{{{place}}}" for place in places),
        "timestamp_header": "X-Time",
        "timestamp_format": timestamp_format,
        "id_header": "X-Id",
    }
    request = sent(b'{"at":"1785147295","n":[1,{}]}', message_id="a7-2026", **table)
    values = {place: request.headers.get(headers.get(place, ""), "") for place in places}
    together = "".join(values[place] or request.body.decode() for place in places)
    passed = []
    for cuts in itertools.combinations(range(len(together) + 1), len(places) - 1):
        parts = dict(
            zip(places, map(together.__getitem__, map(slice, (0, *cuts), (*cuts, None))), strict=True)
        )
        given = {headers[place]: parts[place] for place in places if place != "body"}
        other = replace(request, headers={**request.headers, **given}, body=parts["body"].encode())
        with contextlib.suppress(BadSignature, MalformedBody, StaleTimestamp):
            SCHEME.verify(other, trust(options(**table)))
            passed.append(SCHEME.read(other, trust(options(**table)))[0].raw)
    assert passed == [request.body]
