"""Two published keys, the names of those that are given, and a clock that a test moves."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.adapters.key_sets import KeySets
from tests.support.issuer import public_jwk

FIRST, SECOND = public_jwk("first"), public_jwk("second")


@dataclass(slots=True)
class Time:
    """A monotonic clock that a test moves."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


async def given(directory: KeySets, address: str, *, after: int = 0) -> Sequence[object]:
    return [key["kid"] for key in await directory.keys(address, after=after)]
