"""How often each effect really happened, and what was answered to idempotency keys."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from devhost.outside.messages import Answer, Call, Refused, fingerprint

MOST_EFFECTS = 200_000
_MOST_NAME = 500


class Kind(StrEnum):
    """What can happen out here."""

    CHAT = "chat"
    EMBEDDING = "embedding"
    VIDEO = "video"
    MESSAGE = "message"
    CALLBACK = "callback"
    KEYED = "keyed"
    FINDABLE = "findable"
    BLIND = "blind"


@dataclass(slots=True)
class _Count:
    count: int = 0
    repeats: int = 0
    by_key: Counter[str] = field(default_factory=Counter)
    by_reference: Counter[str] = field(default_factory=Counter)
    by_request: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Kept:
    at: float
    request: str
    answer: Answer


class Effects:
    """Counts, and what keys were answered. After 200,000 effects further ones are refused (507)."""

    def __init__(self) -> None:
        self._counts: dict[Kind, _Count] = {kind: _Count() for kind in Kind}
        self._kept: dict[tuple[Kind, str], _Kept] = {}
        self._total = 0

    def once(
        self,
        kind: Kind,
        call: Call,
        do: Callable[[], Answer],
        *,
        request: object,
        reference: str | None = None,
        key_window: float | None = None,
    ) -> Answer:
        """Let the effect happen and count it, or repeat the answer that its key got within `key_window`.

        Without `key_window` a key is counted and otherwise ignored. `request` is what the caller asked for;
        a caller that sends `x-client-request-id` is counted by that instead. Raises Refused.
        """
        named = call.headers.get("x-client-request-id", fingerprint(request))
        key = call.key
        if key is not None and key_window is not None:
            kept = self._kept.get((kind, key))
            if kept is not None and call.at < kept.at + key_window:
                return self._repeat(kind, kept, fingerprint(request))
        if self._total >= MOST_EFFECTS:
            raise Refused(507, "full", f"{MOST_EFFECTS} effects are counted: reset with DELETE /control.")
        answer = do()
        self._happened(kind, key, reference, named)
        if key is not None and key_window is not None:
            self._kept[kind, key] = _Kept(call.at, fingerprint(request), replace(answer, posts=()))
        return answer

    def snapshot(self) -> dict[str, Any]:
        """What `GET /control/effects` shows."""
        return {
            kind.value: {
                "count": count.count,
                "repeats": count.repeats,
                "by_key": dict(count.by_key),
                "by_reference": dict(count.by_reference),
                "by_request": dict(count.by_request),
            }
            for kind, count in self._counts.items()
        }

    def _repeat(self, kind: Kind, kept: _Kept, request: str) -> Answer:
        if kept.request != request:
            raise Refused(422, "idempotency_key_reused", "This key was used for another request.")
        self._counts[kind].repeats += 1
        return kept.answer.with_headers(idempotent_replayed="true")

    def _happened(self, kind: Kind, key: str | None, reference: str | None, request: str) -> None:
        self._total += 1
        count = self._counts[kind]
        count.count += 1
        for counter, name in (
            (count.by_key, key),
            (count.by_reference, reference),
            (count.by_request, request),
        ):
            if name:
                counter[name[:_MOST_NAME]] += 1
