"""Routes: which one an event takes, and what it finds in the event."""

import fnmatch
import json
import re
from dataclasses import replace
from typing import Any

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.pipeline import Route, SourcePolicy
from shared.sizes import MIB
from shared.webhooks.base import WebhookEvent
from shared.webhooks.parsing import parse_object
from shared.webhooks.routing import Extraction, extract, route_for
from tests.unit.shared.webhooks.requests import FIVE_MINUTES


def route(event: str = "*", **expressions: str) -> Route:
    compiled: dict[str, Any] = {name: jmespath.compile(text) for name, text in expressions.items()}
    return Route(
        event=event, pattern=re.compile(fnmatch.translate(event)), task="summarize_document", **compiled
    )


def source(*routes: Route) -> SourcePolicy:
    return SourcePolicy(
        name="events",
        scheme="standard",
        secrets=("EVENTS_WEBHOOK_SECRET",),
        max_body=1024,
        tolerance=FIVE_MINUTES,
        allowed_inputs=(),
        routes=routes,
    )


def event(payload: dict[str, Any]) -> WebhookEvent:
    return WebhookEvent(
        event_id="e1",
        event_type="t",
        account="",
        event_time=None,
        payload=payload,
        raw=json.dumps(payload).encode(),
    )


PAYLOAD = {
    "document": "inputs/documents/plan.pdf",
    "note": "Olá \U0001f600",
    "lone": "a\ud800b",
    "tags": ["a", "b"],
    "count": 3,
    "yes": False,
    "nothing": None,
    "empty": "",
    "sender": {"id": 583231, "share": 0.5},
}


@pytest.mark.parametrize(
    ("event_type", "taken"),
    [
        ("issues.opened", "issues.*"),
        ("issues.opened.twice", "issues.*"),
        ("pull_request.closed", "pull_request.[co]*"),
        ("release.published", None),
        ("issues", None),
        ("Issues.opened", None),
        ("x.issues.opened", None),
        ("push", "push"),
    ],
)
def test_the_first_matching_route_is_taken(event_type: str, taken: str | None) -> None:
    routes = source(route("issues.*"), route("pull_request.[co]*"), route("push"), route("pus?"))
    found = route_for(routes, event_type)
    assert (found.event if found else None) == taken


def test_the_star_takes_an_event_without_type() -> None:
    assert route_for(source(route("*")), "") is not None
    assert route_for(source(route("a*")), "") is None


def test_a_document_is_found_by_name_with_its_user() -> None:
    found = extract(route(input_ref="document", user="sender.id"), event(PAYLOAD))
    assert found == Extraction(input_ref="inputs/documents/plan.pdf", user_id="583231")
    assert found.problem is None


@pytest.mark.parametrize(
    ("expression", "content", "content_type"),
    [
        ("note", "Olá \U0001f600".encode(), "text/plain; charset=utf-8"),
        ("lone", "a\ufffdb".encode(), "text/plain; charset=utf-8"),
        ("tags", b'["a","b"]', "application/json"),
        ("sender", b'{"id":583231,"share":0.5}', "application/json"),
        ("count", b"3", "application/json"),
        ("yes", b"false", "application/json"),
        ("[lone]", '["a\ufffdb"]'.encode(), "application/json"),
    ],
)
def test_an_input_is_taken_from_the_event(expression: str, content: bytes, content_type: str) -> None:
    found = extract(route(input=expression), event(PAYLOAD))
    assert (found.input, found.content_type, found.input_ref) == (content, content_type, None)


def test_without_an_expression_the_whole_event_is_the_input() -> None:
    given_event = event(PAYLOAD)
    found = extract(route(), given_event)
    assert (found.input, found.content_type) == (given_event.raw, "application/json")


@pytest.mark.parametrize("kind", ["input", "input_ref"])
@pytest.mark.parametrize(
    "expression", ["absent", "nothing", "empty", "sender.absent.more", "tags[7]", "`{}`"]
)
def test_an_expression_that_finds_nothing_says_so_and_keeps_the_user(kind: str, expression: str) -> None:
    found = extract(route(user="sender.id", **{kind: expression}), event(PAYLOAD))
    assert found.problem is not None
    assert (found.input, found.input_ref, found.user_id) == (None, None, "583231")
    assert f"`{expression}`" in str(found.problem)


@pytest.mark.parametrize(
    "expression", ["length(count)", "join(',', count)", "sort(@)", "to_number(note).x | abs(@)"]
)
def test_an_expression_that_breaks_on_the_event_says_so(expression: str) -> None:
    found = extract(route(input=expression), event(PAYLOAD))
    assert found.problem is not None
    assert "does not work on this event" in str(found.problem)
    assert "Olá" not in str(found.problem)


@pytest.mark.parametrize("expression", ["count", "tags", "sender", "yes"])
def test_a_reference_must_be_text(expression: str) -> None:
    found = extract(route(input_ref=expression), event(PAYLOAD))
    assert "found no text" in str(found.problem)


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ("plan.pdf", "container/path"),
        ("inputs/" + "x" * 1025, "1024"),
        ("https://account.blob.core.windows.net/inputs/plan.pdf?sig=MARKED", "container"),
        ("inputs/documents/../secret.pdf", "dot"),
    ],
)
def test_what_is_no_reference_to_a_document_is_a_problem_and_does_not_travel(
    document: str, rule: str
) -> None:
    found = extract(route(input_ref="document"), event({"document": document}))
    assert found.input_ref is None
    assert rule in str(found.problem)
    assert "MARKED" not in str(found.problem)


def test_what_is_no_json_is_a_problem() -> None:
    assert extract(route(input="to_number('NaN')"), event(PAYLOAD)).problem is not None


@pytest.mark.parametrize("expression", ["yes", "tags", "sender", "sender.share", "absent", "length(count)"])
def test_what_names_no_user_is_nobody(expression: str) -> None:
    assert extract(route(user=expression), event(PAYLOAD)).user_id is None


@pytest.mark.fuzz
@given(
    payload=st.dictionaries(
        st.sampled_from(["a", "b"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=[])),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
            ),
        ),
    ),
    expression=st.sampled_from(
        [
            "a",
            "a.b.c",
            "a[?b>`1`].c",
            "sort_by(a,&b)",
            "max(a)",
            "sum(b)",
            "keys(a)",
            "a|[0]",
            "&a",
            "merge(a,b)",
        ]
    ),
    kind=st.sampled_from(["input", "input_ref", "user"]),
)
def test_no_event_makes_an_expression_raise(payload: dict[str, Any], expression: str, kind: str) -> None:
    found = extract(route(**{kind: expression}), event(payload))
    assert (found.problem is not None) == (found.input is None and found.input_ref is None)
    (found.input_ref or "").encode()
    (found.user_id or "").encode()


LONG_NOTE = "é\n" * (MIB // 7)
LARGE = json.dumps({"note": LONG_NOTE, "short": "plan", "lines": [LONG_NOTE]}).encode()


@pytest.mark.parametrize(
    ("expressions", "content", "content_type"),
    [
        ({"input": "note"}, LONG_NOTE.encode(), "text/plain; charset=utf-8"),
        ({"input": "join('-', [short, note])"}, f"plan-{LONG_NOTE}".encode(), "text/plain; charset=utf-8"),
        ({"input": "lines"}, json.dumps([LONG_NOTE]).encode(), "application/json"),
        ({}, LARGE, "application/json"),
    ],
)
def test_a_large_events_long_text_is_the_input_all_the_same(
    expressions: dict[str, str], content: bytes, content_type: str
) -> None:
    found = extract(route(**expressions), replace(event({}), payload=parse_object(LARGE), raw=LARGE))
    assert found.input is not None
    pieces = [found.input] if isinstance(found.input, bytes) else found.input
    assert (b"".join(pieces), found.content_type, found.problem) == (content, content_type, None)


def test_a_long_text_is_no_document_no_user_and_kept_as_it_is() -> None:
    given = replace(event({}), payload=parse_object(LARGE), raw=LARGE)
    found = extract(route(input_ref="note", user="note", keep="{n: note}"), given)
    assert (found.input_ref, found.user_id, found.kept) == (None, None, None)
    assert found.problem == "The route's input_ref `note` found no text in the event."
    kept = extract(route(input="short", keep="{n: note}"), given).kept
    assert kept is not None
    assert json.loads(kept) == {"n": LONG_NOTE}
