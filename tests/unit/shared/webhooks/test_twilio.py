"""Twilio's signature over the public URL, the form's fields or the hash of a JSON body."""

import hashlib
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from pydantic import ValidationError

from devhost.senders import twilio as sender
from shared.webhooks import twilio
from shared.webhooks.base import UnusableSecret, WebhookRequest
from shared.webhooks.rejections import BadSignature, BodyTooLarge, UnsupportedMediaType, WebhookRejected
from tests.unit.shared.webhooks.requests import NOW
from tests.unit.shared.webhooks.sources import ACCOUNT_SID
from tests.unit.shared.webhooks.twilio_requests import (
    FORM,
    KEYS,
    MESSAGE,
    PUBLIC_URL,
    SCHEME,
    SHARED,
    TOKEN,
    incoming,
    options,
    read,
    refused,
    trust,
)


@pytest.mark.case(52)
def test_an_event_of_an_account_that_is_not_configured_is_refused_though_it_is_signed() -> None:
    for sid in ("AC" + "f" * 32, ACCOUNT_SID.lower(), ACCOUNT_SID + " ", ""):
        body = urlencode({"AccountSid": sid, "MessageSid": "SM1"}).encode()
        with pytest.raises(BadSignature, match="accounts"):
            read(incoming(body))
    twice = urlencode([("AccountSid", ACCOUNT_SID), ("AccountSid", "AC" + "f" * 32)]).encode()
    with pytest.raises(BadSignature, match="accounts"):
        read(incoming(twice))
    with pytest.raises(BadSignature, match="accounts"):
        read(incoming(b""))


@pytest.mark.case(52)
def test_a_subaccounts_events_are_checked_with_its_own_token_beside_the_main_ones() -> None:
    own = b"the token of the sub-account"
    request = incoming(MESSAGE, sender.signature(PUBLIC_URL, MESSAGE, own.decode()))
    assert refused(request)
    assert SCHEME.verify(request, trust(TOKEN.encode(), own)).secret_index == 1


@pytest.mark.case(65)
@pytest.mark.case(68)
def test_the_configured_address_counts_and_not_the_one_that_the_platform_reports() -> None:
    assert not refused(incoming(MESSAGE))
    seen = incoming(MESSAGE).url
    assert refused(incoming(MESSAGE, sender.signature(seen, MESSAGE, TOKEN)))


@pytest.mark.case(66)
@pytest.mark.parametrize(
    "name", ["host", "x_forwarded_host", "x_forwarded_proto", "forwarded", "x_original_url"]
)
def test_no_header_changes_the_address_that_is_checked(name: str) -> None:
    elsewhere = sender.signature("https://evil.example/api/webhooks/twilio", MESSAGE, TOKEN)
    assert refused(incoming(MESSAGE, elsewhere, **{name: "evil.example"}))
    assert not refused(incoming(MESSAGE, **{name: "evil.example"}))


@pytest.mark.case(69)
def test_the_standard_port_may_be_signed_or_not_and_no_other_port_may() -> None:
    for port, known in ((":443", True), (":80", False), (":8443", False), (":0443", False)):
        signed = sender.signature(PUBLIC_URL.replace(".com", f".com{port}"), MESSAGE, TOKEN)
        assert refused(incoming(MESSAGE, signed)) is not known


@pytest.mark.case(70)
def test_a_query_that_was_escaped_on_its_way_verifies() -> None:
    signed = sender.signature(f"{PUBLIC_URL}?Body=it's&Caller=sip:a@b", MESSAGE, TOKEN)
    assert not refused(incoming(MESSAGE, signed, query="Body=it%27s&Caller=sip%3Aa%40b"))
    assert refused(incoming(MESSAGE, signed, query="Body=it%27s&Caller=sip%3Aa%40c"))
    assert refused(incoming(MESSAGE, signed, query="Caller=sip%3Aa%40b&Body=it%27s"))


@pytest.mark.case(72)
def test_the_fields_of_the_query_are_part_of_the_address_and_not_of_the_form() -> None:
    query = "Digits=1234"
    assert not refused(incoming(MESSAGE, query=query))
    doubled = sender.signature(f"{PUBLIC_URL}?{query}", MESSAGE + b"&Digits=1234", TOKEN)
    assert refused(incoming(MESSAGE, doubled, query=query))
    (event,) = read(incoming(MESSAGE, query=query))
    assert "Digits" not in event.payload


@pytest.mark.case(72)
def test_a_source_of_twilio_takes_no_get() -> None:
    assert SCHEME.methods == ("POST",)


@pytest.mark.case(73)
def test_repeated_fields_are_signed_and_kept_once_for_each_distinct_value() -> None:
    body = MESSAGE + b"&MediaUrl=b&MediaUrl=a&MediaUrl=b"
    assert not refused(incoming(body))
    (event,) = read(incoming(body))
    assert event.payload["MediaUrl"] == ["b", "a"]


@pytest.mark.case(75)
@pytest.mark.parametrize(
    ("sent", "value"),
    [
        ("", ""),
        ("++a+", "  a "),
        ("%20a%0A", " a\n"),
        ("%2B44", "+44"),
        ("%F0%9F%99%82", "🙂"),
        ("null", "null"),
        ("%00", "\x00"),
    ],
)
def test_values_are_signed_and_kept_just_as_they_were_sent(sent: str, value: str) -> None:
    body = MESSAGE + f"&Extra={sent}".encode()
    text = sender.signature(PUBLIC_URL, body, TOKEN)
    assert not refused(incoming(body, text))
    assert read(incoming(body))[0].payload["Extra"] == value
    if value != value.strip():
        stripped = urlencode({"Extra": value.strip()}).encode()
        assert refused(incoming(MESSAGE + b"&" + stripped, text))


@pytest.mark.case(77)
def test_a_field_that_nobody_knows_is_signed_like_any_other() -> None:
    body = MESSAGE + b"&BrandNewField=1"
    assert not refused(incoming(body))
    assert refused(incoming(body, sender.signature(PUBLIC_URL, MESSAGE, TOKEN)))


def json_request(
    body: bytes, hashes: list[str] | None = None, kind: str = "application/json"
) -> WebhookRequest:
    found = [hashlib.sha256(body).hexdigest()] if hashes is None else hashes
    query = "&".join(f"bodySHA256={text}" for text in found)
    return incoming(
        body, sender.signature(f"{PUBLIC_URL}?{query}", b"", TOKEN), query=query, content_type=kind
    )


@pytest.mark.case(78)
def test_a_json_body_is_covered_by_its_hash_in_the_signed_query() -> None:
    body = b'{"MessageSid": "SM1", "MessageStatus": "sent"}'
    digest = hashlib.sha256(body).hexdigest()
    assert not refused(json_request(body))
    assert refused(json_request(body + b" ", [digest]))
    assert refused(json_request(body, [digest.upper()]))
    assert refused(json_request(body, [digest, digest]))
    assert refused(json_request(body, [digest, "0" * 64]))
    assert refused(json_request(body, [""]))
    assert refused(json_request(body, [digest + "%C3%A9"]))
    assert refused(json_request(body, []))


@pytest.mark.case(78)
def test_a_body_that_is_no_form_and_has_no_hash_is_covered_by_nothing() -> None:
    for kind in ("application/json", "text/plain", "multipart/form-data; boundary=x", ""):
        assert refused(incoming(MESSAGE, sender.signature(PUBLIC_URL, b"", TOKEN), content_type=kind))
        assert refused(incoming(MESSAGE, sender.signature(PUBLIC_URL, MESSAGE, TOKEN), content_type=kind))


@pytest.mark.case(78)
def test_a_signed_json_body_cannot_be_passed_off_as_a_form() -> None:
    with pytest.raises(WebhookRejected):
        read(json_request(b'{"AccountSid": "x"}', kind=FORM))


@pytest.mark.case(81)
def test_a_form_that_twilio_never_sends_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = MESSAGE + b"&Filler=" + b"x" * (256 * 1024 - len(MESSAGE) - len("&Filler="))
    assert not refused(incoming(largest))
    monkeypatch.setattr(twilio, "signed_text", lambda _form: pytest.fail("it was read"))
    with pytest.raises(BodyTooLarge, match="form over 262,144 bytes"):
        SCHEME.verify(incoming(largest + b"x", "x"), trust())


def test_a_large_json_body_is_covered_by_its_hash_whatever_the_limit_of_forms() -> None:
    body = json.dumps({"AccountSid": ACCOUNT_SID, "text": "x" * 300 * 1024}).encode()
    query = f"bodySHA256={hashlib.sha256(body).hexdigest()}"
    assert not refused(incoming(body, query=query, content_type="application/json"))


def test_a_slash_at_the_end_is_another_address() -> None:
    assert refused(incoming(MESSAGE, sender.signature(f"{PUBLIC_URL}/", MESSAGE, TOKEN)))
    slashed = trust(public_url=f"{PUBLIC_URL}/")
    assert refused(incoming(MESSAGE), slashed)
    assert not refused(incoming(MESSAGE, sender.signature(f"{PUBLIC_URL}/", MESSAGE, TOKEN)), slashed)


@pytest.mark.parametrize(
    "signature", ["é", "\udcff", " ", "AAAA", "{0},{0}", "{0} ", " {0}", "{0}=", "sha1={0}"]
)
def test_a_signature_in_any_other_form_is_refused(signature: str) -> None:
    good = sender.signature(PUBLIC_URL, MESSAGE, TOKEN)
    assert refused(incoming(MESSAGE, signature.format(good)))


def test_a_missing_signature_is_refused() -> None:
    assert refused(incoming(MESSAGE, ""))


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (b"\xff", ""),
        (b"a=%FF", ""),
        (b"&".join(b"f%d=1" % number for number in range(1001)), ""),
        (MESSAGE, "\udcff"),
        (MESSAGE, "bodySHA256=\udcff"),
        (MESSAGE, "&".join(f"f{number}=1" for number in range(101))),
        (MESSAGE, "é"),
    ],
)
def test_bytes_that_twilio_never_signs_are_refused_and_never_an_error(body: bytes, query: str) -> None:
    assert refused(incoming(body, "RSOYDt4T1cUTdK1PDd93/VVr8B8=", query=query))


def test_a_foreign_charset_is_refused() -> None:
    assert refused(incoming(MESSAGE, content_type=f"{FORM}; charset=latin-1"))


def test_a_compressed_body_is_unsupported() -> None:
    with pytest.raises(UnsupportedMediaType):
        read(incoming(MESSAGE, content_encoding="gzip"))


def test_a_sources_rotation_tells_which_token_verified() -> None:
    assert SCHEME.verify(incoming(MESSAGE), trust(b"the coming token", TOKEN.encode())).secret_index == 1


def test_twilio_is_answered_with_an_empty_set_of_instructions() -> None:
    answer = SCHEME.answer(incoming(MESSAGE))
    assert answer is not None
    assert (answer.status, answer.content_type) == (200, "text/xml; charset=utf-8")
    assert answer.body.endswith(b"<Response/>")


def test_a_source_needs_its_auth_token_unless_it_has_shared_keys() -> None:
    assert SCHEME.wants_secrets(options())
    with_shared = options(shared_keys={"key-1": "A_SHARED_KEY"})
    assert not SCHEME.wants_secrets(with_shared)
    assert with_shared.named_secrets() == {"key-1": "A_SHARED_KEY"}
    assert not SCHEME.signs_time(with_shared)


@pytest.mark.parametrize(
    "more",
    [
        {"accounts": []},
        {"accounts": ["AC123"]},
        {"accounts": ["AC" + "g" * 32]},
        {"shared_keys": {"key-1": "a secret itself"}},
        {"public_url": "https://hooks.example.com?a=1"},
        {"account": ACCOUNT_SID},
    ],
)
def test_wrong_options_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        options(**more)


def test_a_short_token_is_unusable() -> None:
    with pytest.raises(UnusableSecret, match="16"):
        SCHEME.load_key("12345", options())


def test_the_sender_signs_forms_json_and_with_shared_keys_as_the_scheme_reads_them() -> None:
    bodies = [MESSAGE, b'{"AccountSid": "%s"}' % ACCOUNT_SID.encode(), b"[]"]
    for body in bodies:
        for key in (None, "key-1"):
            secret = TOKEN if key is None else SHARED
            headers, query, sent = sender.signed(body, secret, now=NOW, shared_key=key, query="a=1")
            request = WebhookRequest(method="POST", headers=headers, query=query, url=PUBLIC_URL, body=sent)
            SCHEME.verify(request, trust(named=KEYS))
            assert isinstance(SCHEME.read(request, trust()), tuple)
