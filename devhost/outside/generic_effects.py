"""Effects of no particular service, one operation for each thing a provider may promise."""

from collections.abc import Callable, Iterator
from typing import Any

from devhost.outside.effects import Effects, Kind
from devhost.outside.messages import Answer, Call, Refused
from devhost.outside.routes import Route, plain_errors
from devhost.outside.settings import Settings

_MOST_REFERENCE = 500


class GenericEffects:
    """`keyed` honours idempotency keys, `findable` can be asked by reference, `blind` does neither.

    Each takes a JSON object and answers 201 `{"id", "kind", "reference"}`.
    """

    def __init__(self, effects: Effects, settings: Callable[[], Settings], new_id: Callable[[], str]) -> None:
        self._effects = effects
        self._settings = settings
        self._new_id = new_id
        self._by_reference: dict[str, list[tuple[float, dict[str, Any]]]] = {}

    def routes(self) -> Iterator[Route]:
        """One to make an effect of each kind, one to find."""
        for kind in (Kind.KEYED, Kind.FINDABLE, Kind.BLIND):
            yield Route("POST", f"/effects/{kind}", self._maker(kind), plain_errors)
        yield Route("GET", f"/effects/{Kind.FINDABLE}", self._find, plain_errors)

    def _maker(self, kind: Kind) -> Callable[[Call, tuple[str, ...]], Answer]:
        def make(call: Call, _: tuple[str, ...]) -> Answer:
            fields = call.fields()
            reference = fields.get("reference")
            if not _is_reference(reference, needed=kind is Kind.FINDABLE):
                raise Refused(400, "invalid_reference", "reference is a text that is not empty.")
            window = self._settings().key_window_seconds if kind is Kind.KEYED else None
            return self._effects.once(
                kind,
                call,
                lambda: self._happen(kind, reference, call.at),
                request=fields,
                reference=reference,
                key_window=window,
            )

        return make

    def _happen(self, kind: Kind, reference: str | None, at: float) -> Answer:
        effect = {"id": f"{kind}_{self._new_id()}", "kind": kind.value, "reference": reference}
        if kind is Kind.FINDABLE and reference is not None:
            self._by_reference.setdefault(reference, []).append((at, effect))
        return Answer.json(effect, 201)

    def _find(self, call: Call, _: tuple[str, ...]) -> Answer:
        reference = call.query.get("reference", "")
        if not reference:
            raise Refused(400, "invalid_reference", "?reference= is missing.")
        until = call.at - self._settings().find_lag_seconds
        found = [effect for at, effect in self._by_reference.get(reference, []) if at <= until]
        return Answer.json({"effects": found})


def _is_reference(value: object, *, needed: bool) -> bool:
    if value is None:
        return not needed
    return isinstance(value, str) and 0 < len(value) <= _MOST_REFERENCE
