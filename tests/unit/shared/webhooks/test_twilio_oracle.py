"""The same verdict as Twilio's own library, but for the differences that `DIFFERENT` lists.

https://github.com/twilio/twilio-python/blob/main/twilio/request_validator.py
"""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from urllib.parse import parse_qs, quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twilio.request_validator import (  # type: ignore[import-untyped]  # it has no types
    RequestValidator,
    get_signature_algorithm,
)

from devhost.senders import twilio as sender
from shared.webhooks.base import Trust, WebhookRequest
from shared.webhooks.rejections import BadSignature
from shared.webhooks.twilio import Twilio, TwilioOptions
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW
from tests.unit.shared.webhooks.sources import ACCOUNT_SID

pytestmark = pytest.mark.oracle
logging.getLogger("twilio.request_validator").setLevel(logging.ERROR)  # it warns of each odd algorithm

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
SETTINGS = "key=key-1,algorithm="


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request, signed somehow; `settings` is the settings header, `tokens` what the receiver holds."""

    url: str  # as configured, without query
    query: str
    body: str
    content_type: str
    signature: str
    settings: str | None = None
    token: str = "an invented secret of the tests"
    shared: str = "another invented secret of the tests"


def ours(attempt: Attempt) -> bool:
    headers = {"content-type": attempt.content_type, "x-twilio-signature": attempt.signature}
    if attempt.settings is not None:
        headers["x-twilio-webhooks-signature-settings"] = attempt.settings
    request = WebhookRequest(
        method="POST",
        headers=headers,
        query=attempt.query,
        url="http://elsewhere/",
        body=attempt.body.encode("utf-8", "surrogateescape"),
    )
    trust = Trust(
        options=TwilioOptions.model_validate({"public_url": attempt.url, "accounts": [ACCOUNT_SID]}),
        now=NOW,
        tolerance=FIVE_MINUTES,
        keys=[attempt.token.encode()],
        named={"key-1": attempt.shared.encode()},
    )
    try:
        Twilio().verify(request, trust)
    except BadSignature:
        return False
    return True


class Fields(dict[str, list[str]]):
    """Repeated fields as the library reads them of Django's QueryDict."""

    def getlist(self, name: str) -> list[str]:
        return self[name]


def theirs(attempt: Attempt) -> bool:
    """As Twilio's documentation has it called: a form's fields, or the text of any other body."""
    url = f"{attempt.url}?{attempt.query}" if attempt.query else attempt.url
    params: Any = attempt.body
    if attempt.content_type == FORM:
        params = Fields(parse_qs(attempt.body, keep_blank_values=True))
    secret = attempt.token if attempt.settings is None else attempt.shared
    algorithm = get_signature_algorithm(attempt.settings)
    try:
        return bool(RequestValidator(secret).validate(url, params, attempt.signature, algorithm))
    except TypeError:  # a body that is neither a form nor covered by its hash
        return False


def signed(attempt: Attempt) -> Attempt:
    """With the signature that Twilio would have made."""
    url = f"{attempt.url}?{attempt.query}" if attempt.query else attempt.url
    form = attempt.body.encode() if attempt.content_type == FORM else b""
    if attempt.settings is None:
        return replace(attempt, signature=sender.signature(url, form, attempt.token))
    algorithm = attempt.settings.partition("algorithm=")[2]
    return replace(attempt, signature=sender.signature(url, form, attempt.shared, algorithm))


VALUES = [
    "",
    " ",
    "x",
    "+44 20",
    "1+1=2",
    "🙂",
    "a\nb",
    "'@:*~",
    "\x00",
    "é&=;%",
    "\u2028",
    "ﬁ",
    "\U0010ffff",
]
NAMES = ["Body", "body", "From", "To", "Digits", "é", "", "A&B", "a=b"]
HOSTS = ["hooks.example.com", "Example.com", "localhost", "a-b.example.com"]
PORTS = ["", ":443", ":80", ":8443", ":1"]
PATHS = ["", "/", "/a", "/a/", "/a+b", "/a%20b", "/:@", "/x;y=1"]
QUERIES = ["", "a=1", "b=2&a=1", "a=%C3%A9&a=+", "a=it's&b=c@d:", "a", "=&a=", "a=%zz", "bodysha256=1"]
ALGORITHMS = [None, SETTINGS + "HMAC_SHA1", SETTINGS + "HMAC_SHA256"]
QUOTING: list[Callable[[str], str]] = [
    quote,
    quote_plus,
    lambda text: quote_plus(text, safe="*~'@:,()!"),
    lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
]


def any_text(random: Random) -> str:
    """One of the awkward values, or characters from all over Unicode."""
    if random.random() < 0.6:
        return random.choice(VALUES)
    drawn = (chr(random.randrange(1, 0xD800 if random.random() < 0.8 else 0x80)) for _ in range(8))
    return "".join(drawn)


def any_form(random: Random) -> str:
    quoting = random.choice(QUOTING)
    names = [random.choice([*NAMES, any_text(random)]) for _ in range(random.randrange(7))]
    fields = [(name, any_text(random)) for name in names]
    return "&".join(f"{quoting(name)}={quoting(value)}" for name, value in fields)


def any_attempt(random: Random) -> Attempt:
    """A form or JSON as Twilio sends it, signed for the address as configured."""
    port, path, query = random.choice(PORTS), random.choice(PATHS), random.choice(QUERIES)
    json = random.random() < 0.4
    body = any_text(random) if json else any_form(random)
    if json and (not body or random.random() < 0.9):
        query = "&".join(filter(None, [query, _hash(body)]))
    return signed(
        Attempt(
            url=f"{random.choice(['https', 'http'])}://{random.choice(HOSTS)}{port}{path}",
            query=query,
            body=body,
            content_type=JSON if json else FORM,
            signature="",
            settings=random.choice(ALGORITHMS),
        )
    )


def _hash(body: str) -> str:
    return f"bodySHA256={hashlib.sha256(body.encode()).hexdigest()}"


def port_of(url: str) -> str:
    return url.split("://")[1].partition("/")[0].partition(":")[2]


def with_port(url: str, port: str) -> str:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.partition(':')[0]}{port}{slash}{path}"


RANDOM = st.randoms(use_true_random=True, note_method_calls=False)
EACH = range(40)


@settings(max_examples=60, deadline=None)
@given(random=RANDOM)
def test_what_twilio_signs_verifies_with_both(random: Random) -> None:
    for _ in EACH:
        attempt = any_attempt(random)
        covered = attempt.content_type == FORM or "bodySHA256" in attempt.query
        assert (ours(attempt), theirs(attempt)) == (covered, covered), attempt


@settings(max_examples=60, deadline=None)
@given(random=RANDOM)
def test_both_agree_about_the_port_that_was_signed_except_for_unusual_ones(random: Random) -> None:
    for _ in EACH:
        attempt = any_attempt(random)
        other = with_port(attempt.url, random.choice(PORTS))
        elsewhere = replace(attempt, signature=signed(replace(attempt, url=other)).signature)
        standard = {"https": "443", "http": "80"}[attempt.url.partition(":")[0]]
        if {port_of(attempt.url), port_of(other)} <= {"", standard} or attempt.url == other:
            assert ours(elsewhere) is theirs(elsewhere), elsewhere
        else:  # the difference "any port"
            assert not ours(elsewhere)


TAMPERED: list[Callable[[Attempt], Attempt]] = [
    lambda a: replace(a, body=a.body + ("x" if a.content_type == JSON else "&x=1")),
    lambda a: replace(a, body="Body=other"),
    lambda a: replace(a, query=a.query + "&z=1"),
    lambda a: replace(a, url=a.url + "/z"),
    lambda a: replace(a, token="a token of somebody else", shared="a key of somebody else"),
    lambda a: replace(a, signature=""),
    lambda a: replace(a, signature=a.signature.lower() + "A"),
    lambda a: replace(a, signature=a.signature[:-1]),
    lambda a: replace(a, signature=f"{a.signature},{a.signature}"),
    lambda a: replace(a, signature="é" * len(a.signature)),
    lambda a: replace(a, settings=SETTINGS + "HMAC_MD5"),
    lambda a: replace(a, signature=signed(replace(a, query=a.query + "&y")).signature),
]


@settings(max_examples=60, deadline=None)
@given(random=RANDOM)
def test_both_refuse_what_was_changed(random: Random) -> None:
    for _ in EACH:
        changed = random.choice(TAMPERED)(any_attempt(random))
        assert (ours(changed), theirs(changed)) == (False, False), changed


BASE = signed(
    Attempt(
        url="https://hooks.example.com/twilio", query="a=1", body="Body=x", content_type=FORM, signature=""
    )
)


DIFFERENT: dict[str, tuple[str, Attempt, bool]] = {
    "any port": (
        "The library leaves out any port of the address; only a standard port may come or go.",
        replace(
            BASE,
            url="https://hooks.example.com:8443/twilio",
            signature=BASE.signature,
        ),
        False,
    ),
    "escaped query": (
        "Twilio signs ' @ : of the query as written and sends them escaped; the library has one spelling.",
        replace(
            signed(replace(BASE, query="a=it's")),
            query="a=it%27s",
        ),
        True,
    ),
    "form with a hash": (
        "A hash of the body in the query is checked whatever the media type; the library passes over it.",
        signed(replace(BASE, query="bodySHA256=" + "0" * 64)),
        False,
    ),
    "second hash": (
        "Two hashes in the query are refused; the library takes the first.",
        signed(replace(BASE, query=f"{_hash('x')}&bodySHA256={'0' * 64}", body="x", content_type=JSON)),
        False,
    ),
    "empty body": (
        "An empty body that is no form needs its hash as well; to the library it is an empty form.",
        signed(replace(BASE, body="", content_type=JSON)),
        False,
    ),
    "empty settings": (
        "An empty settings header is refused; to the library it means the auth token (here its only secret).",
        replace(BASE, settings="", shared=BASE.token),
        False,
    ),
    "algorithm in small letters": (
        "The algorithm must be spelt as Twilio spells it; the library takes any case.",
        replace(
            BASE,
            settings=SETTINGS + "hmac_sha1",
            signature=sender.signature(f"{BASE.url}?{BASE.query}", BASE.body.encode(), BASE.shared),
        ),
        False,
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_each_difference_is_meant(name: str) -> None:
    _, attempt, verdict = DIFFERENT[name]
    assert ours(attempt) is verdict
    assert theirs(attempt) is not verdict
