"""From a verified event to a task and its input, by the source's routes.

A verified event is never refused here: where an expression finds nothing, the extraction says so and the
job becomes a case in front of a person, instead of an event lost.
"""

from dataclasses import dataclass, field
from typing import Any

from shared.pipeline.model import Expression, Route, SourcePolicy
from shared.ports import Pieces
from shared.printable import clean_text
from shared.refs import parse_ref
from shared.webhooks.base import WebhookEvent
from shared.webhooks.expressions import EVALUATION_ERRORS, searched
from shared.webhooks.json_documents import to_json
from shared.webhooks.long_texts import LongText, utf8

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What a route takes from an event: a document's name or the input itself, and the user.

    `kept` is what the route keeps of the event beside the input. `problem` says, in our own words, why
    there is neither document nor input.
    """

    input_ref: str | None = None
    input: bytes | Pieces | None = field(default=None, repr=False)
    content_type: str | None = None  # of `input`
    user_id: str | None = field(default=None, repr=False)
    kept: bytes | None = field(default=None, repr=False)  # JSON
    problem: str | None = None


class _NothingFound(Exception):
    """Its text is the extraction's problem."""


def route_for(source: SourcePolicy, event_type: str) -> Route | None:
    """The first route whose pattern matches, or None: nobody wants this event."""
    return next((route for route in source.routes if route.pattern.match(event_type)), None)


def extract(route: Route, event: WebhookEvent) -> Extraction:
    """Apply the route's expressions. Never raises."""
    user_id, kept = _user(route.user, event), _kept(route.keep, event)
    try:
        if route.input_ref is not None:
            return Extraction(input_ref=_ref(route.input_ref, event), user_id=user_id, kept=kept)
        if route.input is not None:
            content, content_type = _input(route.input, event)
            return Extraction(input=content, content_type=content_type, user_id=user_id, kept=kept)
    except _NothingFound as nothing:
        return Extraction(user_id=user_id, problem=str(nothing))
    return Extraction(input=event.raw, content_type=JSON, user_id=user_id, kept=kept)


def _ref(expression: Expression, event: WebhookEvent) -> str:
    found = _found(expression, event)
    if not isinstance(found, str):
        raise _NothingFound(f"The route's input_ref `{expression.expression}` found no text in the event.")
    ref = clean_text(found)
    try:
        parse_ref(ref)
    except ValueError as error:  # an address with a token in it, for one, must not travel on
        raise _NothingFound(
            f"The route's input_ref `{expression.expression}` found no reference to a document. {error}"
        ) from None
    return ref


def _input(expression: Expression, event: WebhookEvent) -> tuple[bytes | Pieces, str]:
    found = _found(expression, event)
    if isinstance(found, LongText):
        return found.encoded(), TEXT
    if isinstance(found, str):
        return utf8(found), TEXT
    return _json(expression, found), JSON


def _kept(expression: Expression | None, event: WebhookEvent) -> bytes | None:
    """What is kept is a help, not a need: an expression that finds nothing keeps nothing."""
    if expression is None:
        return None
    try:
        return _json(expression, _found(expression, event))
    except _NothingFound:
        return None


def _json(expression: Expression, found: Any) -> bytes:
    try:
        return to_json(found)
    except (TypeError, ValueError, RecursionError):
        raise _NothingFound(
            f"What the route's expression `{expression.expression}` found is not JSON."
        ) from None


def _found(expression: Expression, event: WebhookEvent) -> Any:
    try:
        found = expression.search(searched(expression.expression, event.payload))
    except EVALUATION_ERRORS:
        raise _NothingFound(
            f"The route's expression `{expression.expression}` does not work on this event."
        ) from None
    if found is None or found in ("", [], {}):
        raise _NothingFound(f"The route's expression `{expression.expression}` found nothing in the event.")
    return found


def _user(expression: Expression | None, event: WebhookEvent) -> str | None:
    """On whose behalf: text or a whole number; anything else is nobody."""
    if expression is None:
        return None
    try:
        found = _found(expression, event)
    except _NothingFound:
        return None
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return clean_text(str(found))
