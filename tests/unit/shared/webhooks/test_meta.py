"""Meta's signature, and its handshake by GET."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from pydantic import ValidationError

from devhost.senders import meta as sender
from shared.webhooks.base import Trust, WebhookRequest
from shared.webhooks.meta import Meta, MetaOptions
from shared.webhooks.parsing import LARGEST_BATCH
from shared.webhooks.rejections import BadSignature, BodyTooLarge, MalformedBody, UnsupportedMediaType
from tests.unit.shared.webhooks.batches import message, whatsapp
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW
from tests.unit.shared.webhooks.tampering import Vector, changes, flips, refusal

SCHEME = Meta()
OPTIONS = MetaOptions.model_validate({"verify_token": "A_VERIFY_TOKEN"})
SECRET = "an invented secret of the tests"
TOKEN = "an invented token+of/the=tests"
# As Meta writes it: beyond ASCII in lower-case escapes, a slash escaped.
BODY = rb'{"object":"page","entry":[{"id":"1","text":"Zo\u00eb \ud83d\ude42 https:\/\/example.com"}]}'


def trust(*keys: str, token: str | None = TOKEN) -> Trust[MetaOptions]:
    return Trust(
        options=OPTIONS,
        now=NOW,
        tolerance=FIVE_MINUTES,
        keys=[key.encode() for key in keys or (SECRET,)],
        named={} if token is None else {"verify_token": token.encode()},
    )


def post(body: bytes = BODY, secret: str = SECRET, **more: str) -> WebhookRequest:
    headers, query, raw = sender.signed(body, secret, now=NOW)
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    return WebhookRequest(method="POST", headers=headers, query=query, url="https://e.com/a", body=raw)


def get(query: str) -> WebhookRequest:
    return WebhookRequest(method="GET", headers={}, query=query, url=f"https://e.com/a?{query}", body=b"")


VECTOR = Vector(
    name="meta",
    scheme=SCHEME,
    request=post(),
    signed_headers=("x-hub-signature-256",),
    secret=SECRET,
    options=OPTIONS,
)


def test_a_signed_request_verifies_and_no_single_bit_may_change() -> None:
    assert refusal(VECTOR) is None
    assert [changed.name for changed in flips(VECTOR) if refusal(changed) is None] == []


@given(changed=changes([VECTOR]))
def test_a_request_with_any_other_byte_is_refused(changed: Vector) -> None:
    assert refusal(changed) is not None


def test_only_the_bytes_that_meta_sent_verify_and_not_the_same_json() -> None:
    again = json.dumps(json.loads(BODY), ensure_ascii=False, separators=(",", ":")).encode()
    request = post()
    with pytest.raises(BadSignature):
        SCHEME.verify(
            WebhookRequest(method="POST", headers=request.headers, query="", url="", body=again), trust()
        )


def test_during_rotation_either_app_secret_verifies() -> None:
    assert SCHEME.verify(post(), trust("the coming secret of the tests", SECRET)).secret_index == 1


@pytest.mark.case(82)
def test_who_knows_the_verify_token_gets_the_bare_challenge_back() -> None:
    reply = SCHEME.greet(get(sender.handshake(TOKEN, "1158201444")), trust())
    assert reply is not None
    assert (reply.status, reply.body, reply.content_type) == (
        200,
        b"1158201444",
        "text/plain; charset=utf-8",
    )


@pytest.mark.case(82)
def test_the_handshake_needs_neither_a_signature_nor_the_app_secret() -> None:
    assert SCHEME.greet(
        get(sender.handshake(TOKEN)),
        Trust(options=OPTIONS, now=NOW, tolerance=FIVE_MINUTES, named={"verify_token": TOKEN.encode()}),
    )


@pytest.mark.case(43)
@pytest.mark.parametrize("configured", [None, TOKEN, "***"])
@pytest.mark.parametrize("shown", [[""], [], ["x"], [TOKEN.upper()], [TOKEN, TOKEN], ["é"], ["\x00"]])
def test_another_empty_or_missing_verify_token_is_refused(configured: str | None, shown: list[str]) -> None:
    fields = [("hub.mode", "subscribe"), ("hub.challenge", "1")] + [("hub.verify_token", x) for x in shown]
    with pytest.raises(BadSignature):
        SCHEME.greet(get(urlencode(fields)), trust(token=configured))


@pytest.mark.parametrize("challenge", [[], [""], ["1", "1"], ["x" * 257], ["a b"], ["<é>"], ["a\r\nb"]])
def test_a_challenge_that_is_no_short_text_is_malformed(challenge: list[str]) -> None:
    fields = [("hub.mode", "subscribe"), ("hub.verify_token", TOKEN)]
    fields += [("hub.challenge", text) for text in challenge]
    with pytest.raises(MalformedBody):
        SCHEME.greet(get(urlencode(fields)), trust())


@pytest.mark.parametrize(
    "query",
    [
        "",
        "hub.mode=unsubscribe",
        "hub.mode=subscribe&hub.mode=subscribe",
        "hub_mode=subscribe",
        "\udcff",
        "&".join(f"f{number}=1" for number in range(30)),
    ],
)
def test_any_other_get_is_no_handshake(query: str) -> None:
    assert SCHEME.greet(get(query), trust()) is None


def test_meta_is_answered_with_200_and_the_list_of_jobs() -> None:
    assert SCHEME.answer(post()) is None
    assert SCHEME.accepted_status == 200


@pytest.mark.parametrize(
    "more", [{"content_type": "text/plain"}, {"content_type": ""}, {"content_encoding": "gzip"}]
)
def test_another_media_type_or_encoding_is_unsupported(more: dict[str, str]) -> None:
    with pytest.raises(UnsupportedMediaType):
        SCHEME.read(post(BODY, SECRET, **more), trust())


@pytest.mark.parametrize("table", [{}, {"verify_token": "a token itself"}, {"verify_token": "A", "x": 1}])
def test_wrong_options_are_refused(table: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MetaOptions.model_validate(table)


def test_a_batch_whose_items_repeat_a_large_common_part_is_refused() -> None:
    """Each message is an event with what its batch shares: here 400 times 100 KB."""
    batch = whatsapp([message(person) for person in range(400)])
    batch["entry"][0]["changes"][0]["value"]["metadata"]["note"] = "x" * 100_000
    with pytest.raises(BodyTooLarge):
        SCHEME.read(post(json.dumps(batch).encode()), trust())


def test_a_batch_larger_than_meta_sends_is_refused_before_it_is_split() -> None:
    with pytest.raises(BodyTooLarge, match="a batch over"):
        SCHEME.read(post(json.dumps({"object": "page", "pad": "x" * LARGEST_BATCH}).encode()), trust())
