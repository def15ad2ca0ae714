"""Twilio's signature over the public URL, the form's fields or the hash of a JSON body."""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from devhost.senders import twilio as sender
from shared.webhooks.base import Trust, UnusableSecret, WebhookEvent, WebhookRequest
from shared.webhooks.rejections import BadSignature, UnsupportedMediaType, WebhookRejected
from shared.webhooks.secrets import SourceNotConfigured, load_keys
from shared.webhooks.twilio import Twilio, TwilioOptions
from shared.webhooks.verification import verify
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW
from tests.unit.shared.webhooks.sources import ACCOUNT_SID, EXAMPLES, Example

SCHEME = Twilio()
FORM = "application/x-www-form-urlencoded"
PUBLIC_URL = "https://hooks.example.com/api/webhooks/twilio"
TOKEN = "an invented secret of the tests"
SHARED = "another invented secret of the tests"
MESSAGE = urlencode(
    {"AccountSid": ACCOUNT_SID, "MessageSid": "SM1", "SmsStatus": "received", "Body": " it's 1+1 🙂 "}
).encode()

# Published by Twilio; the token is 12345. https://www.twilio.com/docs/usage/security and
# https://github.com/twilio/twilio-python/blob/main/tests/unit/test_request_validator.py
PUBLISHED_TOKEN = b"12345"
CALL = "CallSid=CA1234567890ABCDE&Caller={0}&Digits=1234&From={0}&To=%2B18005551212"
MY = "https://mycompany.com/myapp.php"
REPEATED = "Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234"
JSON_BODY = b'{"property": "value", "boolean": true}'
JSON_HASH = "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
DOCUMENTED = CALL.format("%2B14158675310")
OLDER = CALL.format("%2B12349013030")
TESTED = CALL.format("%2B14158675309")
VECTORS = [
    pytest.param(
        "https://example.com/myapp.php",
        "foo=1&bar=2",
        DOCUMENTED,
        "L/OH5YylLD5NRKLltdqwSvS0BnU=",
        id="documentation",
    ),
    pytest.param(MY, "foo=1&bar=2", OLDER, "0/KCTR6DLpKmkAf8muzZqo1nDgQ=", id="older-documentation"),
    pytest.param(MY, "foo=1&bar=2", TESTED, "RSOYDt4T1cUTdK1PDd93/VVr8B8=", id="library"),
    pytest.param(MY, "foo=1&bar=2", TESTED, "kvajT1Ptam85bY51eRf/AJRuM3w=", id="library-port-443"),
    pytest.param(
        "http://mycompany.com/myapp.php",
        "foo=1&bar=2",
        TESTED,
        "0ZXoZLH/DfblKGATFgpif+LLRf4=",
        id="library-port-80",
    ),
    pytest.param(
        "http://mycompany.com:1234/myapp.php",
        "foo=1&bar=2",
        TESTED,
        "Zmvh+3yNM1Phv2jhDCwEM3q5ebU=",
        id="library-port-1234",
    ),
    pytest.param(MY, "foo=1&bar=2", REPEATED, "IK+Dwps556ElfBT0I3Rgjkr1wJU=", id="library-repeated-field"),
    pytest.param(
        MY,
        f"foo=1&bar=2&bodySHA256={JSON_HASH}",
        JSON_BODY.decode(),
        "a9nBmqA0ju/hNViExpshrM61xv4=",
        id="library-json",
    ),
]


def options(public_url: str = PUBLIC_URL, **more: Any) -> TwilioOptions:
    return TwilioOptions.model_validate({"public_url": public_url, "accounts": [ACCOUNT_SID], **more})


def incoming(
    body: bytes, signature: str | None = None, *, query: str = "", method: str = "POST", **headers: str
) -> WebhookRequest:
    """Signed with the token unless a signature is given; headers with underscores, left out when empty."""
    url = f"{PUBLIC_URL}?{query}" if query else PUBLIC_URL
    found = {"content-type": FORM} | {name.replace("_", "-"): value for name, value in headers.items()}
    if signature is None:
        form = body if found["content-type"].startswith(FORM) and "bodySHA256" not in query else b""
        signature = sender.signature(url, form, TOKEN)
    found["x-twilio-signature"] = signature
    return WebhookRequest(
        method=method,
        headers={name: value for name, value in found.items() if value},
        query=query,
        url="http://app.azurewebsites.net/api/webhooks/twilio",  # what the platform makes of it
        body=body,
    )


def trust(*keys: bytes, named: Mapping[str, bytes] | None = None, **more: Any) -> Trust[TwilioOptions]:
    return Trust(
        options=options(**more),
        now=NOW,
        tolerance=FIVE_MINUTES,
        keys=keys or [TOKEN.encode()],
        named=named or {},
    )


def refused(request: WebhookRequest, checked: Trust[TwilioOptions] | None = None) -> bool:
    try:
        SCHEME.verify(request, checked or trust())
    except BadSignature:
        return True
    return False


def read(request: WebhookRequest) -> tuple[WebhookEvent, ...]:
    SCHEME.verify(request, trust())
    return SCHEME.read(request, trust())


def flipped(text: str) -> Iterator[str]:
    for place, character in enumerate(text):
        yield text[:place] + chr(ord(character) ^ 1) + text[place + 1 :]


@pytest.mark.parametrize(("url", "query", "body", "signature"), VECTORS)
def test_the_published_examples_verify(url: str, query: str, body: str, signature: str) -> None:
    kind = "application/json" if "bodySHA256" in query else FORM
    request = incoming(body.encode(), signature, query=query, content_type=kind)
    assert SCHEME.verify(request, trust(PUBLISHED_TOKEN, public_url=url)).secret_index == 0


@pytest.mark.parametrize(("url", "query", "body", "signature"), VECTORS)
def test_any_changed_byte_of_body_url_query_signature_or_token_is_refused(
    url: str, query: str, body: str, signature: str
) -> None:
    kind = "application/json" if "bodySHA256" in query else FORM
    checked = trust(PUBLISHED_TOKEN, public_url=url)

    def accepted(changed: WebhookRequest, against: Trust[TwilioOptions] = checked) -> bool:
        return not refused(changed, against)

    for other in flipped(body):
        changed = incoming(other.encode(), signature, query=query, content_type=kind)
        assert not accepted(changed) or _same_fields(other, body)
    for other in flipped(query):
        assert not accepted(incoming(body.encode(), signature, query=other, content_type=kind))
    request = incoming(body.encode(), signature, query=query, content_type=kind)
    for other in flipped(signature):
        assert not accepted(incoming(body.encode(), other, query=query, content_type=kind))
    for token in flipped(PUBLISHED_TOKEN.decode()):
        assert not accepted(request, trust(token.encode(), public_url=url))
    for other in flipped(url):
        try:
            changed_trust = trust(PUBLISHED_TOKEN, public_url=other)
        except ValidationError:
            continue
        assert not accepted(request, changed_trust)


def _same_fields(one: str, other: str) -> bool:
    """Twilio signs the distinct decoded fields in order: another spelling of them is the same form."""
    return _signed_text(one) == _signed_text(other)


def _signed_text(form: str) -> str:
    fields = sorted(set(parse_qsl(form, keep_blank_values=True)))
    return "".join(name + value for name, value in fields)


FIELDS = st.lists(st.tuples(st.text(max_size=8), st.text(max_size=20)), max_size=8)


@given(fields=FIELDS, query=st.sampled_from(["", "a=1", "a=1&b=%C3%A9"]))
def test_a_generated_form_verifies_in_any_order_and_no_field_can_be_added_or_changed(
    fields: list[tuple[str, str]], query: str
) -> None:
    body = urlencode(fields, errors="surrogatepass").encode()
    request = incoming(body, query=query)
    signature = request.headers["x-twilio-signature"]
    assert not refused(request)
    turned = urlencode(fields[::-1]).encode()
    assert not refused(incoming(turned, signature, query=query))
    assert refused(incoming(body + b"&Extra=1", signature, query=query))
    assert refused(incoming(body, signature, query=query + "&c=1"))


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
def test_repeated_fields_are_signed_once_for_each_distinct_value_and_all_kept() -> None:
    body = MESSAGE + b"&MediaUrl=b&MediaUrl=a&MediaUrl=b"
    assert not refused(incoming(body))
    (event,) = read(incoming(body))
    assert event.payload["MediaUrl"] == ["b", "a", "b"]


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


def shared_request(settings: str, algorithm: str, key: str = SHARED, body: bytes = MESSAGE) -> WebhookRequest:
    signature = sender.signature(PUBLIC_URL, body, key, algorithm)
    return incoming(body, signature, x_twilio_webhooks_signature_settings=settings)


KEYS = {"key-1": SHARED.encode(), "key-2": b"a third invented secret of the tests"}


@pytest.mark.case(80)
@pytest.mark.parametrize(
    ("settings", "algorithm"),
    [
        ("key=key-1,algorithm=HMAC_SHA256", "HMAC_SHA256"),
        ("key=key-1,algorithm=HMAC_SHA1", "HMAC_SHA1"),
        ("algorithm=HMAC_SHA256, key=key-1", "HMAC_SHA256"),
        (" key = key-1 , algorithm = HMAC_SHA256 , version=2", "HMAC_SHA256"),
    ],
)
def test_a_shared_key_signs_with_the_algorithm_that_the_settings_name(settings: str, algorithm: str) -> None:
    request = shared_request(settings, algorithm)
    verified = SCHEME.verify(request, trust(named=KEYS))
    assert (verified.secret_index, verified.named) == (None, "key-1")
    assert refused(shared_request(settings, algorithm, key=TOKEN), trust(named=KEYS))
    other = "HMAC_SHA1" if algorithm == "HMAC_SHA256" else "HMAC_SHA256"
    assert refused(shared_request(settings, other), trust(named=KEYS))


@pytest.mark.case(80)
@pytest.mark.parametrize(
    "settings",
    [
        "key=unknown,algorithm=HMAC_SHA256",
        "key=key-2,algorithm=HMAC_SHA256",
        "key=key-1,algorithm=HMAC_MD5",
        "key=key-1,algorithm=hmac_sha256",
        "key=key-1",
        "algorithm=HMAC_SHA256",
        "key=key-1,algorithm=HMAC_SHA256,algorithm=HMAC_SHA1",
        "key=key-1,key=key-2,algorithm=HMAC_SHA256",
        "key=é,algorithm=HMAC_SHA256",
        "key=,algorithm=",
        ",",
    ],
)
def test_settings_that_name_another_key_or_algorithm_are_refused(settings: str) -> None:
    for algorithm in sender.ALGORITHMS:
        assert refused(shared_request(settings, algorithm), trust(named=KEYS))


@pytest.mark.case(80)
def test_the_settings_choose_neither_the_auth_token_nor_no_key_at_all() -> None:
    settings = "key=key-1,algorithm=HMAC_SHA1"
    assert refused(shared_request(settings, "HMAC_SHA1", key=TOKEN), trust(named=KEYS))
    assert refused(shared_request(settings, "HMAC_SHA1", key=TOKEN))
    request = shared_request("", "HMAC_SHA1", key=SHARED)  # without the header only the token counts
    assert refused(request, trust(named=KEYS))
    empty = WebhookRequest(
        method="POST",
        headers={**incoming(MESSAGE).headers, "x-twilio-webhooks-signature-settings": ""},
        query="",
        url=PUBLIC_URL,
        body=MESSAGE,
    )
    assert refused(empty, trust(named=KEYS))


@pytest.mark.case(81)
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


def test_a_shared_key_that_is_not_set_is_our_fault() -> None:
    example = EXAMPLES["twilio-shared-key"]
    unset = Example(scheme=example.scheme, table=example.table, settings={"A_SECRET": TOKEN})
    keys = load_keys(unset.policy(), unset.settings)
    checked = Trust(options=unset.options, now=NOW, tolerance=timedelta(minutes=5))
    assert verify(SCHEME, incoming(MESSAGE), keys, checked).secret_index == 0
    with pytest.raises(SourceNotConfigured):
        verify(SCHEME, shared_request("key=key-1,algorithm=HMAC_SHA256", "HMAC_SHA256"), keys, checked)


def test_the_sender_signs_forms_json_and_with_shared_keys_as_the_scheme_reads_them() -> None:
    bodies = [MESSAGE, b'{"AccountSid": "%s"}' % ACCOUNT_SID.encode(), b"[]"]
    for body in bodies:
        for key in (None, "key-1"):
            secret = TOKEN if key is None else SHARED
            headers, query, sent = sender.signed(body, secret, now=NOW, shared_key=key, query="a=1")
            request = WebhookRequest(method="POST", headers=headers, query=query, url=PUBLIC_URL, body=sent)
            SCHEME.verify(request, trust(named=KEYS))
            assert isinstance(SCHEME.read(request, trust()), tuple)
