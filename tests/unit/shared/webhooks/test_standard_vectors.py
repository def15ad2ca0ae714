"""Standard Webhooks' published examples of both kinds of signature, and one changed byte of each."""

import base64
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings

from devhost.senders.standard import signed
from shared.webhooks.base import Options, UnusableSecret
from shared.webhooks.rejections import BadSignature
from shared.webhooks.standard import Standard
from tests.unit.shared.webhooks.requests import NOW, STANDARD_KEY, delivered, request, trust
from tests.unit.shared.webhooks.tampering import Vector, changes, flips, refusal

SCHEME = Standard()
PRIVATE = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
PUBLIC = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
V1 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
V1A = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
MESSAGE = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
OPENAI = (
    "wh_685c059ae39c8190af8c71ed1022a24d",
    "1750861210",
    (
        b'{"id": "evt_685c059ae3a481909bdc86819b066fb6", "object": "event", "created_at": 1750861210,'
        b' "type": "response.completed", "data": {"id": "resp_123"}}'
    ),
)


def vector(name: str, secret: str, message: tuple[str, str, bytes], given: str) -> Vector:
    message_id, when, body = message
    headers = {"webhook-id": message_id, "webhook-timestamp": when, "webhook-signature": given}
    return Vector(
        name=name,
        scheme=SCHEME,
        secret=secret,
        request=request(body, {**headers, "content-type": "application/json"}),
        signed_headers=tuple(headers),
        now=datetime.fromtimestamp(int(when), UTC),
    )


# https://github.com/standard-webhooks/standard-webhooks/blob/main/libraries/python/tests/test_webhooks.py
# https://github.com/svix/svix-webhooks/blob/main/server/svix-server/src/worker.rs (v1a) and
# https://github.com/openai/openai-python/blob/main/tests/lib/test_webhooks.py
VECTORS = [
    vector("standard-webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", MESSAGE, V1),
    vector("svix-v1a", PUBLIC, MESSAGE, V1A),
    vector(
        "openai",
        "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=",
        OPENAI,
        "v1,gUAg4R2hWouRZqRQG4uJypNS8YK885G838+EHb4nKBY=",
    ),
]


@pytest.mark.parametrize("good", VECTORS, ids=lambda good: good.name)
def test_the_published_examples_verify_until_any_bit_is_turned_over(good: Vector) -> None:
    assert refusal(good) is None
    assert [changed.name for changed in flips(good) if refusal(changed) is None] == []


@settings(max_examples=300)
@given(changes(VECTORS))
def test_any_other_byte_anywhere_is_refused(changed: Vector) -> None:
    assert isinstance(refusal(changed), BadSignature | UnusableSecret), changed.name


def test_one_header_may_hold_both_kinds_and_either_key_verifies_it() -> None:
    for secret in ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", PUBLIC):
        for header in (f"{V1} {V1A}", f"{V1A} {V1}"):
            assert refusal(vector("both", secret, MESSAGE, header)) is None


@pytest.mark.case(33)
def test_one_kind_of_signature_is_never_taken_for_the_other() -> None:
    text = V1A.removeprefix("v1a,")
    assert refusal(vector("v1a as v1", PUBLIC, MESSAGE, f"v1,{text}")) is not None
    public = base64.b64decode(PUBLIC.removeprefix("whpk_"))
    mac = delivered(signed(b"{}", f"whsec_{base64.b64encode(public).decode()}", now=NOW))
    key = SCHEME.load_key(PUBLIC, Options())
    for version in ("v1,", "v1a,"):
        header = mac.headers["webhook-signature"].replace("v1,", version)
        forged = replace(mac, headers={**mac.headers, "webhook-signature": header})
        with pytest.raises(BadSignature):
            SCHEME.verify(forged, trust(key))


def test_what_a_private_key_signs_its_public_key_verifies_beside_a_secret() -> None:
    incoming = delivered(signed(b'{"type":"a"}', PRIVATE, now=NOW, family="svix"))
    keys = [STANDARD_KEY, SCHEME.load_key(PUBLIC, Options())]
    assert SCHEME.verify(incoming, trust(*keys)).secret_index == 1


@pytest.mark.parametrize(
    "given",
    [
        V1A.rstrip("="),
        V1A[:-4],
        f"{V1A}AAAA",
        V1A.replace("/", "_").replace("+", "-"),
        "v1a,",
        "v1a",
        "v1a,é",
        "v1a,\udcff",
        V1A.replace("v1a", "v1A"),
        V1A.replace("v1a", "v2"),
        " ".join([*["v1a,AAAA"] * 10, V1A]),
    ],
)
def test_a_v1a_signature_of_another_form_is_refused(given: str) -> None:
    assert isinstance(refusal(vector("odd", PUBLIC, MESSAGE, given)), BadSignature)


@pytest.mark.case(51)
@pytest.mark.parametrize(
    ("secret", "problem"),
    [
        (PRIVATE, "private key"),
        ("sk-proj-0123456789abcdefghijklmnopqrst", "API key"),
        ("r8_0123456789abcdefghijklmnopqrstuvwxyz", "API token"),
        ("whpk_", "Ed25519 public key"),
        (PUBLIC.rstrip("="), "Ed25519 public key"),
        ("whpk_" + base64.b64encode(b"\x01" * 31).decode(), "Ed25519 public key"),
        ("whpk_" + base64.b64encode(bytes(32)).decode(), "Ed25519 public key"),
        ("whpk_" + base64.b64encode(b"\x01" + bytes(31)).decode(), "Ed25519 public key"),
    ],
)
def test_another_kind_of_key_is_refused_with_a_hint_and_not_shown(secret: str, problem: str) -> None:
    with pytest.raises(UnusableSecret, match=problem) as caught:
        SCHEME.load_key(secret, Options())
    assert secret.removeprefix("whpk_") not in str(caught.value) or secret == "whpk_"
