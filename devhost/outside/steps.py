"""The steps of a script: what becomes of one call. Written in JSON, or with the functions at the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MOST_TIMES = 1_000_000
MOST_SECONDS = 3_600.0
MOST_GARBAGE = 256 * 1024 * 1024
_MOST_TEXT = 500
_USUAL_GARBAGE = 16 * 1024 * 1024

JsonStep = str | Mapping[str, Any]
"""A step as it is written in a script."""


class StepError(ValueError):
    """A step that cannot be understood; the text says why."""


class Fault(StrEnum):
    """How a call goes wrong."""

    NONE = "ok"
    STATUS = "status"
    GARBAGE = "garbage"
    CUT_BEFORE = "cut_before"
    """The connection ends without effect."""
    CUT_DURING = "cut_during"
    """The effect happens, and the connection ends within the answer's body."""
    CUT_AFTER = "cut_after"
    """The effect happens, and the connection ends without an answer."""


class Garbage(StrEnum):
    """A 200 with something else in it than it should have."""

    NOT_JSON = "not_json"
    WRONG_SHAPE = "wrong_shape"
    HTML = "html"
    EMPTY = "empty"
    HUGE = "huge"
    TRUNCATED = "truncated"
    """The first half of the right body, and its length is that half's."""
    ZEROS = "zeros"
    """As many zero bytes as the right body has bytes."""


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of a call, so many `times`.

    `status` comes with the service's error `code`, or its usual one, and with a redirect's `location`.
    `content_type` is told in place of the right one. `after`: whether the effect has
    happened when the fault, or the wait, comes. `slow` waits that many seconds, `hold` until it is released
    by that name. `reply` is what the right answer is to say.
    """

    fault: Fault = Fault.NONE
    after: bool = False
    status: int = 200
    code: str = ""
    retry_after: float | None = None
    location: str = ""
    content_type: str = ""
    slow: float = 0.0
    hold: str = ""
    garbage: Garbage = Garbage.NOT_JSON
    size: int = _USUAL_GARBAGE
    reset: bool = False
    reply: Mapping[str, Any] = field(default_factory=dict)
    times: int = 1


OK = Step()
_CUTS = (Fault.CUT_BEFORE, Fault.CUT_DURING, Fault.CUT_AFTER)
_REPLIES = frozenset({"content", "usage", "creation_fails", "callback_first"})
_KNOWN = frozenset({"ok", "status", "code", "retry_after", "location", "content_type", "after"}) | frozenset(
    {"slow", "hold", "garbage", "size", "times"}
)


def parse(text: object) -> Step:
    """A step as it is written. Raises StepError."""
    given = {text: True} if isinstance(text, str) else text
    if not isinstance(given, dict):
        raise StepError(f"a step is a word or a JSON object, not {text!r}")
    unknown = set(given) - _KNOWN - _REPLIES - {cut.value for cut in _CUTS}
    if unknown:
        raise StepError(f"a step has no {', '.join(sorted(map(repr, unknown)))}")
    fault = _fault(given)
    cut = given.get(fault.value) if fault in _CUTS else None
    if fault in _CUTS and "after" in given:
        raise StepError(f"{fault} says itself whether the effect happens: leave out after")
    return Step(
        fault=fault,
        after=_flag(given, "after", default=fault is Fault.GARBAGE),
        status=int(_number(given, "status", 200, 200, 599)),
        code=_text(given, "code"),
        location=_text(given, "location"),
        content_type=_text(given, "content_type"),
        retry_after=_number(given, "retry_after", 0, 0, MOST_SECONDS) if "retry_after" in given else None,
        slow=_number(given, "slow", 0, 0, MOST_SECONDS),
        hold=_text(given, "hold"),
        garbage=_garbage(given),
        size=int(_number(given, "size", _USUAL_GARBAGE, 0, MOST_GARBAGE)),
        reset=_is_reset(cut),
        reply={name: value for name, value in given.items() if name in _REPLIES},
        times=int(_number(given, "times", 1, 1, MOST_TIMES)),
    )


def _fault(given: Mapping[str, object]) -> Fault:
    named = [fault for fault in Fault if fault is not Fault.NONE and fault.value in given]
    if len(named) > 1:
        raise StepError(f"a step has one fault, not {' and '.join(named)}")
    return named[0] if named else Fault.NONE


def _garbage(given: Mapping[str, object]) -> Garbage:
    kind = given.get("garbage", Garbage.NOT_JSON)
    if not isinstance(kind, str) or kind not in set(Garbage):
        raise StepError(f"garbage is one of {', '.join(Garbage)}")
    return Garbage(kind)


def _is_reset(cut: object) -> bool:
    if cut not in (None, True, "reset"):
        raise StepError('a cut is true, or "reset" to end the connection by RST')
    return cut == "reset"


def _flag(given: Mapping[str, object], name: str, *, default: bool) -> bool:
    value = given.get(name, default)
    if not isinstance(value, bool):
        raise StepError(f"{name} is true or false")
    return value


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str) or len(value) > _MOST_TEXT or not value.isprintable():
        raise StepError(f"{name} is a short text on one line")
    return value


def _number(given: Mapping[str, object], name: str, default: float, low: float, high: float) -> float:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise StepError(f"{name} is a number from {low:g} to {high:g}")
    return value


def status(
    number: int, *, code: str = "", retry_after: float | None = None, after: bool = False, times: int = 1
) -> JsonStep:
    """An answer with this status and the service's error code; `after` the effect, or instead of it."""
    wait = {} if retry_after is None else {"retry_after": retry_after}
    return {"status": number, "code": code, "after": after, "times": times, **wait}


def slow(seconds: float, *, after: bool = False, times: int = 1) -> JsonStep:
    """The right answer, so many seconds late; the wait is `after` the effect, or before it."""
    return {"slow": seconds, "after": after, "times": times}


def hold(name: str, *, after: bool = False) -> JsonStep:
    """The right answer, once `Outside.release(name)` is called."""
    return {"hold": name, "after": after}


def cut(when: Fault, *, reset: bool = False, times: int = 1) -> JsonStep:
    """End the connection, by FIN or by RST."""
    if when not in _CUTS:
        raise StepError(f"a cut is one of {', '.join(_CUTS)}")
    return {when.value: "reset" if reset else True, "times": times}


def garbage(kind: Garbage, *, after: bool = True, size: int = _USUAL_GARBAGE, times: int = 1) -> JsonStep:
    """A 200 with something else in it; `size` is that of a huge one, in bytes."""
    return {"garbage": kind.value, "after": after, "size": size, "times": times}
