"""Which fault at which call ends how: the rows of `test_fault_scripts`, read off docs/decision-table.md."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from devhost.outside.steps import Fault, Garbage, JsonStep, cut, garbage, slow, status
from tests.support.effects_beside import CALL

ATTEMPTS = 4
"""Of every task in the pipeline of these rows."""
HUGE = 3 * 1024 * 1024
TOO_SLOW = CALL.total_seconds() + 2
RETRY_AFTER = 2.0

SUCCEEDED = "succeeded"
RECONCILE = "reconcile/outcome_unknown"
FAILED = "manual_review/provider_call_failed"
BAD_INPUT = "fix_input/provider_call_failed"


class Called(StrEnum):
    """Whose call meets the fault."""

    CHAT = "chat"
    SUBMIT = "submit"
    STATUS = "status"
    CONTENT = "content"
    KEYED = "keyed"
    FINDABLE = "findable"
    LOOK_UP = "look_up"
    BLIND = "blind"
    REFUSED = "refused"
    RECEIVER = "receiver"


@dataclass(frozen=True, slots=True)
class Row:
    """`ends` is a state or CATEGORY/CODE, `attempts` those spent, `effects` how often it really happened."""

    called: Called
    name: str
    steps: tuple[JsonStep, ...]
    ends: str
    attempts: int
    effects: int

    def __str__(self) -> str:
        return f"{self.called}-{self.name}"


def _garbled(*kinds: Garbage) -> Iterator[tuple[str, JsonStep]]:
    for kind in kinds:
        yield f"garbage_{kind}", garbage(kind, size=HUGE)


def _turned_away() -> Iterator[tuple[str, JsonStep]]:
    yield "429", status(429)
    yield "503", status(503)


def _unclear_and_not_executed() -> Iterator[tuple[str, JsonStep]]:
    yield "500", status(500)
    yield "408", status(408)
    yield "cut_before", cut(Fault.CUT_BEFORE)


def _unclear_and_executed() -> Iterator[tuple[str, JsonStep]]:
    yield "slow", slow(TOO_SLOW, after=True)
    yield "cut_during", cut(Fault.CUT_DURING)
    yield "cut_after", cut(Fault.CUT_AFTER, reset=True)


def _spoiled() -> Iterator[tuple[str, JsonStep]]:
    kinds = (Garbage.NOT_JSON, Garbage.WRONG_SHAPE, Garbage.HTML, Garbage.EMPTY, Garbage.TRUNCATED)
    yield from _garbled(*kinds, Garbage.HUGE)


def _answers_safe_to_repeat() -> Iterator[tuple[str, tuple[JsonStep, ...], bool]]:
    """Name, steps, and whether the call was executed before the good one."""
    for name, step in (*_turned_away(), *_unclear_and_not_executed()):
        yield name, (step,), False
    for name, step in (*_unclear_and_executed(), *_spoiled()):
        yield name, (step,), True
    yield "burst", tuple(status(number) for number in (500, 503, 502)), False


def _refused(called: Called, effects: int) -> Iterator[Row]:
    for number, ends in ((422, BAD_INPUT), (401, FAILED)):
        yield Row(called, f"{number}", (status(number),), ends, 1, effects)


def _chat() -> Iterator[Row]:
    """A model: no answer is a retry, never an unknown outcome."""
    for name, steps, executed in _answers_safe_to_repeat():
        yield Row(Called.CHAT, name, steps, SUCCEEDED, 1 + len(steps), 2 if executed else 1)
    yield Row(Called.CHAT, "5xx_to_the_end", (status(504, times=ATTEMPTS),), FAILED, ATTEMPTS, 0)
    yield from _refused(Called.CHAT, 0)
    refused = (status(400, code="content_filter"),)
    yield Row(Called.CHAT, "refused_by_policy", refused, "fix_input/content_refused", 1, 0)


def _status() -> Iterator[Row]:
    """A look at what the outside works on: one that fails is made again, and spends no attempt."""
    for name, steps, _ in _answers_safe_to_repeat():
        yield Row(Called.STATUS, name, steps, SUCCEEDED, 1, 1)
    many = (status(504, times=2 * ATTEMPTS),)
    yield Row(Called.STATUS, "5xx_more_often_than_attempts", many, SUCCEEDED, 1, 1)
    yield from _refused(Called.STATUS, 1)
    yield Row(Called.STATUS, "404", (status(404),), SUCCEEDED, 1, 1)


def _submit() -> Iterator[Row]:
    """Without keys and without a way to ask: what is not clear is for a person."""
    for name, step in _turned_away():
        yield Row(Called.SUBMIT, name, (step,), SUCCEEDED, 2, 1)
    redirect: JsonStep = {"status": 302, "location": "http://127.0.0.1:1/"}
    for name, step in (*_unclear_and_not_executed(), ("redirect", redirect)):
        yield Row(Called.SUBMIT, name, (step,), RECONCILE, 1, 0)
    for name, step in (*_unclear_and_executed(), *_spoiled(), ("500_after", status(500, after=True))):
        yield Row(Called.SUBMIT, name, (step,), RECONCILE, 1, 1)
    yield from _refused(Called.SUBMIT, 0)
    busy = (status(503, times=ATTEMPTS),)
    yield Row(Called.SUBMIT, "503_to_the_end", busy, FAILED, ATTEMPTS, 0)
    yield Row(Called.SUBMIT, "503_then_cut_after", (status(503), cut(Fault.CUT_AFTER)), RECONCILE, 2, 1)
    refused = (status(400, code="moderation_blocked"),)
    yield Row(Called.SUBMIT, "refused_by_policy", refused, "fix_input/content_refused", 1, 0)
    yield Row(Called.SUBMIT, "creation_fails", ({"creation_fails": "no_luck"},), SUCCEEDED, 2, 2)
    late: JsonStep = {"creation_fails": "moderation_blocked"}
    yield Row(Called.SUBMIT, "policy_found_later", (late,), "fix_input/video_content_refused", 1, 1)


def _content() -> Iterator[Row]:
    """The video was made once, whatever becomes of its file."""
    for name, step in (
        *_turned_away(),
        *_unclear_and_not_executed(),
        *_unclear_and_executed(),
        ("404", status(404)),
        ("401", status(401)),
        *_garbled(Garbage.NOT_JSON, Garbage.HTML, Garbage.EMPTY),
    ):
        yield Row(Called.CONTENT, name, (step,), SUCCEEDED, 1, 1)
    for name, step in _garbled(Garbage.TRUNCATED, Garbage.ZEROS, Garbage.HUGE):
        yield Row(Called.CONTENT, name, (step,), "manual_review/video_unfit", 1, 1)
    gone = (status(503, times=2 * ATTEMPTS),)
    yield Row(Called.CONTENT, "503_more_often_than_attempts", gone, SUCCEEDED, 1, 1)


def _effects() -> Iterator[Row]:
    """With keys a repeat is harmless; with a look-up the provider is asked; with neither a person decides."""
    for called in (Called.KEYED, Called.FINDABLE, Called.BLIND):
        for name, step in (*_turned_away(), ("429_retry_after", status(429, retry_after=RETRY_AFTER))):
            yield Row(called, name, (step,), SUCCEEDED, 2, 1)
        yield from _refused(called, 0)
    garbled = tuple(_garbled(Garbage.NOT_JSON, Garbage.HUGE))
    for name, step in (*_unclear_and_not_executed(), *_unclear_and_executed(), *garbled):
        yield Row(Called.KEYED, name, (step,), SUCCEEDED, 2, 1)
        yield Row(Called.FINDABLE, name, (step,), SUCCEEDED, 1, 1)
    for name, step in _unclear_and_not_executed():
        yield Row(Called.BLIND, name, (step,), RECONCILE, 1, 0)
    for name, step in (*_unclear_and_executed(), *garbled):
        yield Row(Called.BLIND, name, (step,), RECONCILE, 1, 1)
    lost = (cut(Fault.CUT_AFTER), status(429, times=ATTEMPTS - 1))
    yield Row(Called.KEYED, "cut_after_then_429_when_attempts_are_spent", lost, SUCCEEDED, ATTEMPTS, 1)
    refused = (cut(Fault.CUT_AFTER), status(400))
    yield Row(Called.KEYED, "cut_after_then_400", refused, RECONCILE, 2, 1)
    twice = (cut(Fault.CUT_AFTER), cut(Fault.CUT_BEFORE))
    yield Row(Called.KEYED, "cut_after_and_cut_before", twice, SUCCEEDED, 3, 1)
    yield Row(Called.REFUSED, "connection", (), FAILED, ATTEMPTS, 0)


def _look_up() -> Iterator[Row]:
    """After a creation whose answer was lost: a look-up that fails tells nothing, and is made again."""
    for name, step in (
        *_turned_away(),
        ("429_retry_after", status(429, retry_after=RETRY_AFTER)),
        ("404", status(404)),
        ("500", status(500)),
        ("slow", slow(TOO_SLOW, after=True)),
        ("cut_after", cut(Fault.CUT_AFTER)),
        *_garbled(Garbage.WRONG_SHAPE),
    ):
        yield Row(Called.LOOK_UP, name, (step,), SUCCEEDED, 1, 1)
    burst = (status(500), status(503), cut(Fault.CUT_BEFORE))
    yield Row(Called.LOOK_UP, "burst", burst, SUCCEEDED, 1, 1)


def _receiver() -> Iterator[Row]:
    """A job is none the worse for a receiver that cannot be told, and one that was told knows a repeat."""
    for name, step in (
        ("429_retry_after", status(429, retry_after=RETRY_AFTER)),
        ("503", status(503)),
        ("404", status(404)),
        ("500_after", status(500, after=True)),
        ("redirect", {"status": 302, "location": "http://127.0.0.1:1/"}),
        ("slow", slow(TOO_SLOW, after=True)),
        ("cut_before", cut(Fault.CUT_BEFORE)),
        ("cut_after", cut(Fault.CUT_AFTER)),
        *_garbled(Garbage.NOT_JSON, Garbage.HUGE),
    ):
        yield Row(Called.RECEIVER, name, (step,), "notified", 1, 1)
    yield Row(Called.RECEIVER, "burst", (status(500, times=3),), "notified", 1, 1)
    yield Row(Called.RECEIVER, "410", (status(410),), "notification_given_up", 1, 0)


TABLE = (*_chat(), *_submit(), *_status(), *_content(), *_effects(), *_look_up(), *_receiver())
