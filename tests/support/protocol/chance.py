"""Where a trace's choices come from: a seed, or a property test that can make a failing trace shorter."""

import math
import random
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
_STEPS = 100


class Chance(Protocol):
    """The part of `random.Random` that a trace uses."""

    def random(self) -> float: ...
    def randrange(self, stop: int, /) -> int: ...
    def choice(self, seq: Sequence[T], /) -> T: ...
    def uniform(self, a: float, b: float, /) -> float: ...
    def expovariate(self, lambd: float, /) -> float: ...


class DrawnChance:
    """Chance over `draw`, which gives an integer from 0 to its argument; the simplest trace draws zeros.

    So `random()` is nearly one at its simplest: what happens only below a threshold does not happen.
    Once `settled`, nothing is drawn any more.
    """

    def __init__(self, draw: Callable[[int], int]) -> None:
        self._draw_one = draw
        self.settled = False
        self._afterwards = random.Random(0)

    def random(self) -> float:
        return (_STEPS - 1 - self._draw(_STEPS - 1)) / _STEPS

    def randrange(self, stop: int, /) -> int:
        return self._draw(stop - 1)

    def choice(self, seq: Sequence[T], /) -> T:
        return seq[self._draw(len(seq) - 1)]

    def uniform(self, a: float, b: float, /) -> float:
        return a + (b - a) * self._draw(_STEPS) / _STEPS

    def expovariate(self, lambd: float, /) -> float:
        return -math.log(1 - self._draw(_STEPS - 1) / _STEPS) / lambd

    def _draw(self, most: int) -> int:
        if most <= 0:
            return 0
        return self._afterwards.randint(0, most) if self.settled else self._draw_one(most)
