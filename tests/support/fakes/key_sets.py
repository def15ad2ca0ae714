"""Published keys without a network."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.webhooks.secrets import KeysUnavailable


class FakeKeySets:
    """KeyDirectory. `published` is what each address shows; a caller sees a change only with `after`.

    What is taken out of `published` cannot be had: a copy read before serves on, but not as a later one.
    """

    def __init__(self) -> None:
        self.published: dict[str, Sequence[Mapping[str, Any]]] = {}
        self.asked: list[tuple[str, int]] = []
        self._seen: dict[str, Sequence[Mapping[str, Any]]] = {}
        self._readings: dict[str, int] = {}

    def readings(self, address: str) -> int:
        return self._readings.get(address, 0)

    async def keys(self, address: str, *, after: int = 0) -> Sequence[Mapping[str, Any]]:
        self.asked.append((address, after))
        if self.readings(address) <= after:
            if address not in self.published:
                raise KeysUnavailable
            self._seen[address] = self.published[address]
            self._readings[address] = self.readings(address) + 1
        return self._seen[address]
