"""A receiver that answers by script and remembers what it was told."""

from dataclasses import dataclass

from shared.notify.announcement import Announcement
from shared.notify.notifier import Attempt, Told
from shared.pipeline.policies import NotifyPolicy
from shared.records import from_text, to_text


@dataclass(frozen=True, slots=True)
class Telling:
    source: str
    policy: NotifyPolicy
    announcement: Announcement


class FakeNotifier:
    """`script` has one outcome for each attempt; without one the receiver takes it."""

    def __init__(self) -> None:
        self.script: list[Attempt] = []
        self.tellings: list[Telling] = []

    async def tell(self, source: str, policy: NotifyPolicy, announcement: Announcement) -> Attempt:
        kept = from_text(Announcement, to_text(announcement))
        self.tellings.append(Telling(source, policy, kept))
        return self.script.pop(0) if self.script else Told()

    def ids(self) -> list[str]:
        """The `webhook-id` of each attempt, in order."""
        return [telling.announcement.webhook_id for telling in self.tellings]
