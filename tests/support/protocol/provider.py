"""Draws for the state machine as they come, each trace anew.

The library's usual provider makes five of six traces by copying parts within the one before, and draws now
and then a number that stands in the source. Both suit values and not histories: the copies came to little
that was new, and a number that changes somewhere would change all traces.
"""

from typing import Any

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

ANEW = "anew"


class AnewProvider(HypothesisProvider):
    """Under a name of its own, because only the one named "hypothesis" gets copies."""

    def _maybe_draw_constant(self, *_: Any, **__: Any) -> None:
        return None


AVAILABLE_PROVIDERS[ANEW] = AnewProvider
