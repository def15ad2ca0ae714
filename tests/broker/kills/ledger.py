"""What a broker was asked and what it confirmed, message by message, and whether what is found agrees."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, auto

MAX_DELIVERIES = 4


class State(StrEnum):
    """Where a message is."""

    ABSENT = auto()
    ACTIVE = auto()
    DEFERRED = auto()
    SCHEDULED = auto()
    DEAD = auto()


@dataclass(frozen=True, slots=True)
class Found:
    """A message as a peek shows it."""

    number: int
    state: State
    sequence: int
    count: int


@dataclass(slots=True)
class Entry:
    """One message: the states it may be in, one of them if all that was asked was confirmed."""

    may: set[State]
    counts: set[int] = field(default_factory=lambda: {0})
    sequence: int | None = None
    token: uuid.UUID | None = None
    sent: bool = False
    """Over the link on which messages are sent in order."""
    settled_as: State | None = None
    """Where a settlement under `token` brings it that was asked for and not confirmed."""
    deliveries: int = 0
    """Once it was received it was stored, whether or not that was confirmed before."""
    away: bool = False
    """It may be locked under a token that was never told."""


@dataclass
class Ledger:
    """The book of one queue over all lives of its broker."""

    entries: dict[int, Entry] = field(default_factory=dict)
    batches: list[Sequence[int]] = field(default_factory=list)
    """Numbers sent as one, to be found all or none."""
    confirmed: Counter[State] = field(default_factory=Counter)

    def ask(self, number: int, *states: State, counts: Iterable[int] = ()) -> None:
        """Something is asked that may bring the message into one of the states."""
        entry = self.entries.setdefault(number, Entry({State.ABSENT}))
        entry.may.update(states)
        entry.counts.update(counts)

    def know(self, number: int, state: State, count: int | None = None) -> None:
        """It was confirmed."""
        entry = self.entries[number]
        entry.may = {state}
        if count is not None:
            entry.counts = {count}
        self.confirmed[state] += 1

    def stored(self, numbers: Sequence[int]) -> None:
        """These sends were confirmed: what of them has not been received since is there."""
        for number in numbers:
            if not self.entries[number].deliveries:
                self.know(number, State.ACTIVE)
        if numbers in self.batches:
            self.batches.remove(numbers)

    def arrive(self, number: int) -> Entry:
        """It was received, and with it its whole batch was stored."""
        for batch in [batch for batch in self.batches if number in batch]:
            self.stored(batch)
        entry = self.entries[number]
        entry.deliveries += 1
        if entry.deliveries == 1:
            entry.may.discard(State.ABSENT)
        return entry

    def count(self, number: int) -> int:
        """The failed deliveries so far, where they are known."""
        (count,) = self.entries[number].counts
        return count

    def in_state(self, state: State) -> list[int]:
        """The messages known to be in that state, with known numbers, that nobody holds."""
        return [
            number
            for number, entry in self.entries.items()
            if entry.may == {state} and entry.token is None and not entry.away and entry.sequence is not None
        ]

    def check(self, found: Sequence[Found], lost_on_the_way: int = 0) -> None:
        """All that was confirmed holds, and no more was done than was asked.

        Up to `lost_on_the_way` messages may have been deleted for a receiver that did not get them.
        """
        by_number = {message.number: message for message in found}
        assert len(by_number) == len(found), "a message is there twice"
        assert by_number.keys() <= self.entries.keys(), "a message is there that nobody sent"
        for batch in self.batches:
            assert len({number in by_number for number in batch}) == 1, f"part of a batch is there: {batch}"
        self.batches.clear()
        lost = [number for number in self.entries if not self._holds(number, by_number.get(number))]
        assert len(lost) <= lost_on_the_way, f"lost: {lost}"
        self._check_order()

    def _holds(self, number: int, message: Found | None) -> bool:
        entry = self.entries[number]
        state = State.ABSENT if message is None else message.state
        lost = message is None and state not in entry.may
        assert lost or state in entry.may, f"message {number} is {state}, but may be {entry.may}"
        entry.may = {state}
        if state is entry.settled_as:
            entry.token = None
        entry.settled_as = None
        if message is not None:
            self._check_numbers(entry, message)
        return not lost

    @staticmethod
    def _check_numbers(entry: Entry, message: Found) -> None:
        assert message.count in entry.counts, f"{message}: counted, but not as {entry.counts}"
        entry.counts = {message.count}
        if message.state is not State.DEAD:
            assert entry.sequence in (None, message.sequence), f"{message}: was {entry.sequence}"
            entry.sequence = message.sequence

    def _check_order(self) -> None:
        numbered = [entry.sequence for entry in self.entries.values() if entry.sequence is not None]
        assert len(set(numbered)) == len(numbered), "a sequence number was given twice"
        in_order = [n for e in self.entries.values() if e.sent and (n := e.sequence) is not None]
        assert in_order == sorted(in_order), "the order of sending was not kept"
