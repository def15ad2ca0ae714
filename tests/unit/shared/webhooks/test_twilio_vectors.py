"""Twilio's published examples, and forms of any content, until a byte of them changes."""

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.webhooks.base import Trust, WebhookRequest
from shared.webhooks.twilio import TwilioOptions
from tests.unit.shared.webhooks.twilio_requests import (
    FORM,
    SCHEME,
    incoming,
    refused,
    trust,
)

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
