"""The large bodies that are measured have the size that is asked for, and their sender's signature."""

import pytest

from devhost.bench.large_requests import IGNORED, KINDS, TEXT, Kind, request
from devhost.senders import github
from shared.webhooks.parsing import form_fields, parse_object

SECRET = "an invented secret of the tests"
SIZE = 1_000_000


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_request_has_its_size_its_action_and_its_signature(kind: Kind) -> None:
    made = request(kind, SIZE, SECRET)
    assert 0.99 * SIZE < len(made.body) <= SIZE
    assert made.headers["x-hub-signature-256"] == github.signature(made.body, SECRET)
    text = dict(form_fields(made.body))["payload"].encode() if kind.form else made.body
    document = parse_object(text)
    assert document["action"] == kind.action
    assert isinstance(document["text"], str | list)
    assert kind.status == (200 if kind.action == IGNORED else 202)


def test_each_kind_has_its_own_name_and_a_text_is_taken_out_of_json_and_of_a_form() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    assert {kind.form for kind in KINDS if kind.action == TEXT} == {False, True}
