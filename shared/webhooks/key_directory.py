"""Where the public keys of signers come from: a port, because they are fetched."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class KeyDirectory(Protocol):
    def readings(self, address: str) -> int:
        """How often the keys at `address` were read by now."""
        ...

    async def keys(self, address: str, *, after: int = 0) -> Sequence[Mapping[str, Any]]:
        """The public keys (JWKS) published at `address`, from a cache of bounded age.

        With `after` those of a later reading than that one; readings are made at most once a minute, whoever
        asks. Raises KeysUnavailable when there are none, and while there are none so new: what a copy lacks
        may have been published since.
        """
        ...
