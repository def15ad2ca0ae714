"""How Azure's senders prove themselves: a secret in a header or the query, or a token."""

from typing import Any

import pytest
from pydantic import ValidationError

from shared.webhooks.azure_trust import AzureOptions, verify_azure
from shared.webhooks.base import Trust, Verified, WebhookRequest
from shared.webhooks.event_grid import EventGrid, EventGridOptions
from shared.webhooks.rejections import BadSignature, UnknownSigningKey
from shared.webhooks.secrets import SourceNotConfigured, load_keys
from shared.webhooks.verification import verify
from tests.unit.shared.webhooks.requests import FIVE_MINUTES, NOW
from tests.unit.shared.webhooks.sources import EXAMPLES, TENANT, Example
from tests.unit.shared.webhooks.tampering import Vector, flips, refusal

SECRET = "an invented secret+of/the=tests"
HEADER = {"secret_header": "x-afterhook-secret"}
QUERY = {"secret_query": "code"}
TOKEN = {"token": {"tenant": TENANT, "audience": ["api://afterhook"], "role": "Subscriber"}}


def request(headers: dict[str, str] | None = None, query: str = "") -> WebhookRequest:
    url = "https://hooks.example.com/api/webhooks/grid"
    return WebhookRequest(method="POST", headers=headers or {}, query=query, url=url, body=b"[]")


def checked(found: WebhookRequest, table: dict[str, Any], *keys: str) -> Verified:
    trust = Trust(
        options=AzureOptions.model_validate(table),
        now=NOW,
        tolerance=FIVE_MINUTES,
        keys=[key.encode() for key in keys or (SECRET,)],
    )
    return verify_azure(found, trust)


def test_a_secret_in_the_header_is_the_senders_proof() -> None:
    shown = request({"x-afterhook-secret": SECRET})
    assert checked(shown, HEADER).secret_index == 0
    assert checked(shown, HEADER, "the coming secret of the tests", SECRET).secret_index == 1


@pytest.mark.parametrize(
    "value", ["", " ", SECRET + " ", SECRET[:-1], SECRET.upper(), f"{SECRET},{SECRET}", "é", "\udcff"]
)
def test_another_secret_in_the_header_is_refused(value: str) -> None:
    with pytest.raises(BadSignature):
        checked(request({"x-afterhook-secret": value}), HEADER)


@pytest.mark.parametrize(
    "query",
    [
        "code=an%20invented%20secret%2Bof%2Fthe%3Dtests",
        "code=an+invented+secret%2Bof/the=tests",
        "a=1&code=an%20invented%20secret+of/the=tests&b=2",
    ],
)
def test_a_secret_in_the_query_may_be_escaped_or_stand_as_it_is(query: str) -> None:
    assert checked(request(query=query), QUERY).secret_index == 0


@pytest.mark.parametrize(
    "query",
    [
        "",
        "code",
        "code=",
        "Code=an%20invented%20secret%2Bof%2Fthe%3Dtests",
        "code=other&code=an%20invented%20secret%2Bof%2Fthe%3Dtests",
        "code=an%20invented%20secret%2Bof%2Fthe%3Dtests&code=an%20invented%20secret%2Bof%2Fthe%3Dtests",
        "code=an%20invented%20secret%2Bof%2Fthe%3Dtest",
        "code=%FF",
        "code=\udcff",
    ],
)
def test_any_other_query_is_refused(query: str) -> None:
    with pytest.raises(BadSignature):
        checked(request(query=query), QUERY)


def test_a_secret_at_another_place_than_configured_does_not_count() -> None:
    for table, found in (
        (HEADER, request(query="x-afterhook-secret=an%20invented%20secret%2Bof%2Fthe%3Dtests")),
        (QUERY, request({"code": SECRET})),
        (TOKEN, request({"authorization": SECRET})),
        (TOKEN, request({"authorization": f"Bearer {SECRET}"})),
    ):
        with pytest.raises(BadSignature) as caught:
            checked(found, table)
        assert not isinstance(caught.value, UnknownSigningKey)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("table", [HEADER, QUERY])
def test_no_single_bit_of_the_secret_may_change(table: dict[str, Any]) -> None:
    query = "" if table is HEADER else "code=an%20invented%20secret%2Bof%2Fthe%3Dtests"
    headers = {"x-afterhook-secret": SECRET} if table is HEADER else {}
    vector = Vector(
        name="azure",
        scheme=EventGrid(),
        request=request(headers, query),
        signed_headers=tuple(headers),
        secret=SECRET,
        options=EventGridOptions.model_validate(table),
        signed_query=True,
    )
    found = [changed for changed in flips(vector) if "body[" not in changed.name]
    assert refusal(vector) is None
    assert len(found) == len(SECRET) + len(query or SECRET)
    assert [changed.name for changed in found if refusal(changed) is None] == []


def test_an_empty_secret_is_never_equal_to_none_at_all() -> None:
    for table in (HEADER, QUERY):
        with pytest.raises(BadSignature):
            checked(request({"x-afterhook-secret": ""}, "code="), table, "")


def test_a_secret_that_is_not_set_is_our_fault() -> None:
    example = EXAMPLES["event-grid-header"]
    unset = Example(scheme=example.scheme, table=example.table, settings={"A_SECRET": "short"})
    trust = Trust(options=unset.options, now=NOW, tolerance=FIVE_MINUTES)
    for found in (request(), request({"x-afterhook-secret": "short"})):
        with pytest.raises(SourceNotConfigured):
            verify(EventGrid(), found, load_keys(unset.policy(), unset.settings), trust)


@pytest.mark.parametrize(
    "table",
    [
        {},
        HEADER | QUERY,
        HEADER | TOKEN,
        {"secret_header": "X Afterhook Secret"},
        {"secret_header": ""},
        {"secret_query": "a b"},
        {"token": {"tenant": TENANT, "audience": ["api://afterhook"]}},
    ],
)
def test_exactly_one_way_is_chosen_and_it_is_a_safe_one(table: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AzureOptions.model_validate(table)


def test_the_header_of_the_secret_may_be_written_as_in_the_portal() -> None:
    assert AzureOptions(secret_header="X-Afterhook-Secret").secret_header == "x-afterhook-secret"
