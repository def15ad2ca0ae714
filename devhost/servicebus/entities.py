"""The queues the broker knows: names, addresses, policies, and their numbers in the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devhost.servicebus.model import EntityNotFoundError, QueuePolicy, QueueRef, SubQueue

DEAD_LETTER_SUFFIX = "/$deadletterqueue"


@dataclass(frozen=True, slots=True)
class Entity:
    """A queue or dead-letter queue under its number in the database."""

    id: int
    ref: QueueRef
    policy: QueuePolicy
    dead_letters: int
    """The number of the dead-letter queue (its own, for a dead-letter queue)."""


class Directory:
    """Finds queues by address. Names are compared without regard to case, as the service does."""

    def __init__(self, policies: Iterable[QueuePolicy]) -> None:
        self._policies: dict[str, QueuePolicy] = {policy.name.lower(): policy for policy in policies}

    @property
    def refs(self) -> list[QueueRef]:
        """Every queue, each followed by its dead-letter queue."""
        return [QueueRef(policy.name, sub) for policy in self._policies.values() for sub in SubQueue]

    def resolve(self, address: str) -> QueueRef:
        """The queue of an address (``queue``, ``/queue/$DeadLetterQueue``, or a URI with such a path)."""
        path = address
        if "://" in path:
            path = path.split("://", 1)[1].partition("/")[2]
        key = path.strip("/").lower()
        sub = SubQueue.MAIN
        if key.endswith(DEAD_LETTER_SUFFIX):
            key, sub = key.removesuffix(DEAD_LETTER_SUFFIX), SubQueue.DEADLETTER
        return QueueRef(self._find(key, address).name, sub)

    def policy(self, ref: QueueRef) -> QueuePolicy:
        return self._find(ref.name.lower(), ref.address)

    def bind(self, ids: Mapping[QueueRef, int]) -> dict[QueueRef, Entity]:
        """The queues with their numbers."""
        return {
            ref: Entity(ids[ref], ref, self.policy(ref), ids[QueueRef(ref.name, SubQueue.DEADLETTER)])
            for ref in self.refs
        }

    def _find(self, key: str, address: str) -> QueuePolicy:
        policy = self._policies.get(key)
        if policy is None:
            raise EntityNotFoundError(
                f"The messaging entity '{address[:300]}' could not be found: there are only queues here, "
                "those of the broker's configuration, and no topics or subscriptions."
            )
        return policy
