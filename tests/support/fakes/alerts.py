"""An alert sink that remembers."""

from shared.deadletters.ports import Alert
from shared.errors import TransientError
from shared.records import from_text, to_text
from tests.support.fakes.faults import Faults


class FakeAlertSink(Faults):
    unavailable = TransientError

    def __init__(self) -> None:
        super().__init__()
        self.alerts: list[Alert] = []

    async def notify(self, alert: Alert) -> None:
        async with self._call("notify"):
            self.alerts.append(from_text(Alert, to_text(alert)))
