"""Why a budget refuses a call, in figures that a person can decide by."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.calls.calling import NO_COST, Usage
from shared.limits.budget import Limit, Shard

_MICROS = 1_000_000
_SHORTEST_FRACTION = 2


class Span(StrEnum):
    """What a limit is for; its options in pipeline.toml begin with it."""

    JOB = "job"
    DAY = "day"


_WHOSE = {Span.JOB: "each release of a job", Span.DAY: "all jobs of a day (UTC)"}
_INSTEAD = {
    Span.JOB: "or resubmit as it is: a release has a budget of its own",
    Span.DAY: "or wait for the next day (UTC), then resubmit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Short:
    """One limit without enough room."""

    option: str
    most: int
    used: int
    asked: int
    money: bool

    def __str__(self) -> str:
        asked = f"the call may need {self._text(self.asked)}" if self.asked else "the call has no estimate"
        return f"{self.option} is {self._text(self.most)}, used or reserved {self._text(self.used)}, {asked}"

    def _text(self, amount: int) -> str:
        return money(amount) if self.money else str(amount)


def refusal(task_type: str, span: Span, shards: Sequence[Shard], limit: Limit, amount: Usage) -> str:
    """What to say of a call that needs `amount` and does not fit under `limit` beside what `shards` hold."""
    short = list(_short(span, shards, limit, amount))
    figures = "; ".join(map(str, short))
    options = " and ".join(one.option for one in short)
    instead = "then resubmit" if any(one.asked > one.most for one in short) else _INSTEAD[span]
    return (
        f"The budget of {task_type} for {_WHOSE[span]} has no room for the call: {figures}."
        f" Raise {options} in pipeline.toml, {instead}."
    )


def money(micros: int) -> str:
    """Millionths of the currency unit as an amount of it, such as `12.50`."""
    whole, fraction = divmod(micros, _MICROS)
    return f"{whole}.{f'{fraction:06d}'.rstrip('0').ljust(_SHORTEST_FRACTION, '0')}"


def _short(span: Span, shards: Sequence[Shard], limit: Limit, amount: Usage) -> Iterator[_Short]:
    least = 1 if amount == NO_COST else 0
    tokens, micros = sum(shard.tokens for shard in shards), sum(shard.micros for shard in shards)
    if limit.tokens is not None and tokens + max(amount.tokens, least) > limit.tokens:
        yield _Short(
            option=f"{span}_tokens", most=limit.tokens, used=tokens, asked=amount.tokens, money=False
        )
    if limit.micros is not None and micros + max(amount.micros, least) > limit.micros:
        yield _Short(option=f"{span}_money", most=limit.micros, used=micros, asked=amount.micros, money=True)
