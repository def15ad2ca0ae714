"""Published keys without a network."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.webhooks.secrets import KeysUnavailable


class FakeKeySets:
    """KeyDirectory. `published` is what each address shows; a caller sees a change only with `newer`.

    What is taken out of `published` cannot be had: a copy read before serves on, but not as a newer one.
    """

    def __init__(self) -> None:
        self.published: dict[str, Sequence[Mapping[str, Any]]] = {}
        self.asked: list[tuple[str, bool]] = []
        self._seen: dict[str, Sequence[Mapping[str, Any]]] = {}

    async def keys(self, address: str, *, newer: bool = False) -> Sequence[Mapping[str, Any]]:
        self.asked.append((address, newer))
        if newer or address not in self._seen:
            if address not in self.published:
                raise KeysUnavailable
            self._seen[address] = self.published[address]
        return self._seen[address]
