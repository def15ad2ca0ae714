"""GitHub's signature, and what its deliveries mean."""

import json
from datetime import timedelta
from urllib.parse import quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.webhooks.base import Options, UnusableSecret, WebhookRequest
from shared.webhooks.github import GitHub
from shared.webhooks.pseudonyms import event_pseudonym
from shared.webhooks.rejections import BadSignature, MalformedBody, UnsupportedMediaType
from tests.unit.shared.webhooks.requests import (
    GITHUB_KEY,
    github_request,
    github_signature,
    request,
    trust,
)
from tests.unit.shared.webhooks.tampering import Vector, changes, flips, refusal

SCHEME = GitHub()
ISSUE = b'{"action":"opened","issue":{"number":7},"sender":{"id":583231}}'

# https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries (the first) and
# https://github.com/octokit/webhooks-methods.js/blob/main/test/verify.test.ts
VECTORS: list[tuple[str, bytes, bytes, str]] = [
    (
        "documentation",
        b"It's a Secret to Everybody",
        b"Hello, World!",
        "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    ),
    (
        "octokit-plain",
        b"mysecret",
        b'{\n  "foo": "bar"\n}\n',
        "e3eccac34c43c7dc1cbb905488b1b81347fcc700a7b025697a9d07862256023f",
    ),
    (
        "octokit-escapes-and-utf8",
        b"development",
        '{\n  "foo": "Foo\\n\\u001B[34mbar: ♥♥♥♥♥♥♥♥\\nthis-is-lost\\u001B[0m\\u001B[2K"\n}\n'.encode(),
        "9dacf9003316b09be07df56d86a2d0d6872e42a1e6c72c3bad9ff915a7c5603e",
    ),
    (
        "octokit-escaped-backslash",
        b"development",
        b'{\n  "foo": "\\\\u001b"\n}\n',
        "87316067e2011fae39998b18c46a14d83b3e7c3ffdd88fb2ee5afb7d11288e60",
    ),
]


def signed(body: bytes, digest: str) -> WebhookRequest:
    return request(body, {"x-hub-signature-256": f"sha256={digest}"})


TAMPERABLE = [
    Vector(
        name=name,
        scheme=SCHEME,
        key=key,
        request=signed(body, digest),
        signed_headers=("x-hub-signature-256",),
    )
    for name, key, body, digest in VECTORS
]


def verified_index(incoming: WebhookRequest, *keys: bytes) -> int | None:
    return SCHEME.verify(incoming, trust(*(keys or [GITHUB_KEY]))).secret_index


def refused(incoming: WebhookRequest, *keys: bytes) -> bool:
    try:
        verified_index(incoming, *keys)
    except BadSignature:
        return True
    return False


@pytest.mark.case(3, 8)
@pytest.mark.parametrize("good", TAMPERABLE, ids=lambda good: good.name)
def test_the_published_examples_verify(good: Vector) -> None:
    assert refusal(good) is None


@pytest.mark.parametrize("good", TAMPERABLE, ids=lambda good: good.name)
def test_any_bit_turned_over_in_body_secret_or_signature_is_refused(good: Vector) -> None:
    assert refusal(good) is None
    assert [changed.name for changed in flips(good) if refusal(changed) is None] == []


@settings(max_examples=300)
@given(changes(TAMPERABLE))
def test_any_other_byte_anywhere_is_refused(changed: Vector) -> None:
    assert isinstance(refusal(changed), BadSignature), changed.name


@pytest.mark.case(2)
def test_the_platform_must_not_write_json_anew() -> None:
    compact, pretty = b'{"action":"opened"}', b'{\n  "action": "opened"\n}'
    assert verified_index(github_request(compact)) == 0
    assert refused(github_request(pretty, x_hub_signature_256=github_signature(compact)))


@pytest.mark.case(51)
@pytest.mark.parametrize("secret", ["ghp_0123456789abcdefghij", "github_pat_0123456789abcdefghij"])
def test_an_access_token_in_the_place_of_the_secret_is_refused_with_a_hint(secret: str) -> None:
    with pytest.raises(UnusableSecret, match="it is an access token; the webhook's secret is wanted"):
        SCHEME.load_key(secret, Options())


@given(body=st.binary(min_size=1, max_size=300), place=st.integers(0, 299), other=st.integers(1, 255))
def test_a_generated_body_verifies_until_one_byte_changes(body: bytes, place: int, other: int) -> None:
    place %= len(body)
    assert verified_index(github_request(body)) == 0
    forged = body[:place] + bytes([body[place] ^ other]) + body[place + 1 :]
    assert refused(github_request(forged, x_hub_signature_256=github_signature(body)))


@pytest.mark.case(12)
def test_the_final_newline_and_line_ends_are_part_of_the_signature() -> None:
    signature = github_signature(b'{"a":1}\n')
    assert refused(github_request(b'{"a":1}', x_hub_signature_256=signature))
    assert refused(github_request(b'{"a":1}\r\n', x_hub_signature_256=signature))


@pytest.mark.case(3, 26, 27, 29)
@pytest.mark.parametrize(
    "header",
    [
        "",
        "   ",
        "sha256=",
        "sha256=é" + "0" * 63,
        "sha256=\udcff" + "0" * 63,
        github_signature(ISSUE).removeprefix("sha256="),
        github_signature(ISSUE).replace("sha256", "SHA256"),
        github_signature(ISSUE).replace("sha256", "sha1"),
        "sha256=" + github_signature(ISSUE).removeprefix("sha256=").upper(),
        github_signature(ISSUE) + "\n",
        f"{github_signature(ISSUE)}, {github_signature(ISSUE)}",
        f"{github_signature(ISSUE)},{github_signature(ISSUE, b'another key')}",
    ],
)
def test_a_signature_header_of_another_form_is_refused(header: str) -> None:
    assert refused(github_request(ISSUE, x_hub_signature_256=header))


@pytest.mark.case(38)
def test_the_old_sha1_header_does_not_count() -> None:
    old = "sha1=7d38cdd689735b008b3c702edd92eea23791c5f6"
    assert refused(github_request(ISSUE, x_hub_signature_256="", x_hub_signature=old))


@pytest.mark.case(53)
def test_during_rotation_either_secret_verifies_and_the_answer_says_which() -> None:
    incoming = github_request(ISSUE, key=b"the secret before this one")
    assert verified_index(incoming, GITHUB_KEY, b"the secret before this one") == 1
    assert verified_index(github_request(ISSUE), GITHUB_KEY, b"the secret before this one") == 0
    assert refused(incoming, GITHUB_KEY)


def test_the_tolerance_does_not_matter_because_no_time_is_signed() -> None:
    assert SCHEME.verify(github_request(ISSUE), trust(GITHUB_KEY, tolerance=timedelta())).secret_index == 0


@pytest.mark.case(41, 44)
@pytest.mark.parametrize("secret", ["", "fifteen letters"])
def test_a_short_secret_is_unusable_and_not_shown(secret: str) -> None:
    with pytest.raises(UnusableSecret, match="shorter than 16 bytes") as caught:
        SCHEME.load_key(secret, Options())
    assert not secret or secret not in str(caught.value)


def test_the_key_is_the_text_of_the_secret() -> None:
    assert SCHEME.load_key("It's a Secret to Everybody", Options()) == b"It's a Secret to Everybody"
    assert SCHEME.load_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Options()).startswith(b"whsec_")


def test_an_issue_event_is_read() -> None:
    (event,) = SCHEME.read(github_request(ISSUE, x_github_hook_id="292430182"), trust())
    assert (event.event_id, event.event_type, event.account, event.event_time) == (
        "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "issues.opened",
        "292430182",
        None,
    )
    assert event.payload["sender"] == {"id": 583231}
    assert event.raw == ISSUE


@pytest.mark.case(88)
def test_an_event_without_action_has_the_name_of_the_header() -> None:
    (event,) = SCHEME.read(
        github_request(b'{"zen":"Keep it logically awesome."}', x_github_event="ping"), trust()
    )
    assert event.event_type == "ping"


def test_the_action_of_a_repository_dispatch_is_made_fit_to_show() -> None:
    body = json.dumps({"action": "new\nline \ud800" + "x" * 500}).encode()
    (event,) = SCHEME.read(github_request(body, x_github_event="repository_dispatch"), trust())
    assert event.event_type.startswith("repository_dispatch.new?line \ufffdxxx")
    assert len(event.event_type) == 128


@pytest.mark.case(13)
def test_a_form_carries_the_event_in_its_payload_and_is_signed_as_it_is() -> None:
    text = '{"action": "opened", "title": "naïve *bold* ~ + 100%"}'
    body = f"payload={quote_plus(text)}".encode()
    incoming = github_request(body, content_type="application/x-www-form-urlencoded; charset=UTF-8")
    assert verified_index(incoming) == 0
    (event,) = SCHEME.read(incoming, trust())
    assert event.raw == text.encode()
    assert event.payload["title"] == "naïve *bold* ~ + 100%"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"other=1",
        b"payload=%7B%7D&payload=%7B%7D",
        b"payload=%FF",
        b"payload=\xff",
        b"payload=",
        b"payload=%5B%5D",
        b"&".join(b"f%d=1" % number for number in range(50)),
    ],
)
def test_a_form_without_exactly_one_good_payload_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        SCHEME.read(github_request(body, content_type="application/x-www-form-urlencoded"), trust())


def test_the_media_type_is_read_without_regard_to_case() -> None:
    incoming = github_request(ISSUE, content_type='Application/JSON; Charset="UTF-8"')
    assert SCHEME.read(incoming, trust())[0].event_type == "issues.opened"


@pytest.mark.case(15)
@pytest.mark.parametrize(
    "headers",
    [
        {"content_type": ""},
        {"content_type": "text/plain"},
        {"content_type": "application/json, application/json"},
        {"content_type": "application/json; charset=iso-8859-1"},
        {"content_encoding": "gzip"},
    ],
)
def test_another_media_type_or_encoding_is_unsupported(headers: dict[str, str]) -> None:
    with pytest.raises(UnsupportedMediaType):
        SCHEME.read(github_request(ISSUE, GITHUB_KEY, **headers), trust())


@pytest.mark.parametrize("name", ["", "Issues", "a b", "x" * 65, "issues\n"])
def test_a_missing_or_odd_event_header_is_malformed(name: str) -> None:
    with pytest.raises(MalformedBody, match="X-GitHub-Event"):
        SCHEME.read(github_request(ISSUE, x_github_event=name), trust())


def test_an_action_that_is_no_text_is_malformed() -> None:
    with pytest.raises(MalformedBody, match="`action`"):
        SCHEME.read(github_request(b'{"action":1}'), trust())


@pytest.mark.case(98)
@pytest.mark.parametrize("delivery", ["", " ", "\t"])
def test_without_a_delivery_id_the_body_is_the_identity(delivery: str) -> None:
    (event,) = SCHEME.read(github_request(ISSUE, x_github_delivery=delivery), trust())
    (again,) = SCHEME.read(github_request(ISSUE, x_github_delivery=delivery), trust())
    (other,) = SCHEME.read(github_request(ISSUE + b" ", x_github_delivery=delivery), trust())
    assert event.event_id == again.event_id != other.event_id
    assert event.event_id.startswith("sha256-")


@pytest.mark.parametrize(
    "delivery", ["é", "a b", "x" * 65, "a_b", "x" * 5000, "\ud800", "sha256-" + "0" * 64]
)
def test_an_odd_delivery_id_is_an_identity_and_is_never_stored_as_it_is(delivery: str) -> None:
    (event,) = SCHEME.read(github_request(ISSUE, x_github_delivery=delivery), trust())
    (again,) = SCHEME.read(github_request(ISSUE + b" ", x_github_delivery=delivery), trust())
    (other,) = SCHEME.read(github_request(ISSUE, x_github_delivery=delivery + "1"), trust())
    assert event.event_id == again.event_id != other.event_id
    stored = event_pseudonym(event.event_id, b"k" * 32)
    assert (stored[:2], len(stored)) == ("h_", 42)


@pytest.mark.case(17)
def test_an_empty_body_with_its_own_good_signature_is_malformed() -> None:
    incoming = github_request(b"")
    assert verified_index(incoming) == 0
    with pytest.raises(MalformedBody, match="empty"):
        SCHEME.read(incoming, trust())
