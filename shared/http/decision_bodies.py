"""The bodies of decisions: each needs a reason, and those on a case an operator too."""

from collections.abc import Container
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from shared.deadletters.decisions import Decision
from shared.http.bodies import idempotency_key, wrong_fields
from shared.http.exchange import BadRequest, HttpRequest
from shared.printable import is_blank, one_line

_BLANK = "blank"
_UNPRINTABLE = "unprintable"
_SHAPES = {
    "operator": "text of 1 to 200 characters",
    "reason": "text of 1 to 2000 characters",
    "input_ref": "text of 1 to 1100 characters",
    "at": "a time with its offset from UTC, such as 2026-07-27T10:15:00Z",
    "effect": "text of 1 to 100 characters",
    "outcome": "`done` or `not_done`",
    "external_id": "text of 1 to 200 characters, all of them printable",
}


def _visible(text: str) -> str:
    if is_blank(text):
        raise PydanticCustomError(_BLANK, "blank")
    return one_line(text)


def _printable(text: str) -> str:
    if _visible(text) != text:
        raise PydanticCustomError(_UNPRINTABLE, "unprintable")
    return text


Operator = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200), AfterValidator(_visible)]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000), AfterValidator(_visible)]
Identifier = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=200), AfterValidator(_printable)
]
"""Kept to the letter or refused, unlike a text that people read."""


class DecisionBody(BaseModel):
    """What every decision on a case says; some say more."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    operator: Operator
    reason: Reason


def decision_of(body: DecisionBody, request: HttpRequest) -> Decision:
    """The decision in `body`, under the request's Idempotency-Key. Raises BadRequest for a bad key."""
    key = idempotency_key(request)
    return Decision(operator=body.operator, reason=body.reason, idempotency_key=key)


def bad_decision(model: type[BaseModel], error: ValidationError) -> BadRequest:
    """What a decision cannot be without has a code of its own, such as `reason_required`."""
    needs_operator = model.model_fields["operator"].is_required()
    shapes = _SHAPES if needs_operator else _SHAPES | {"operator": f"{_SHAPES['operator']}, or left out"}
    texts, fields = wrong_fields(model, error, shapes)
    needed = {"operator", "reason"} if needs_operator else {"reason"}
    missing = [name for name, item in fields.items() if _is_missing(name, item, needed)]
    if not missing:
        return BadRequest(" ".join(texts))
    texts = [text for text in texts if not text.startswith(tuple(f"`{name}`" for name in missing))]
    if not needed.isdisjoint(missing):
        texts[:0] = [f"A decision needs {'an operator and a reason' if needs_operator else 'a reason'}."]
    texts += [f"`{name}` is missing or blank." for name in missing]
    return BadRequest(" ".join(texts), code=f"{missing[0]}_required")


def _is_missing(name: str, item: ErrorDetails, needed: Container[str]) -> bool:
    if item["type"] == _BLANK:
        return name in needed or name != "operator"
    return name in needed and (item["type"] == "missing" or item["input"] is None)
