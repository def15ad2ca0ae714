"""In-memory fakes of every port, held to the same contract tests as the real adapters.

Everything they keep went through the stored text form, so nothing that could not be stored survives.
"""

from tests.support.fakes.alerts import FakeAlertSink
from tests.support.fakes.blobs import FakeBlobStore
from tests.support.fakes.bus import FakeBus, Sent
from tests.support.fakes.cases import FakeCaseStore
from tests.support.fakes.faults import Faults
from tests.support.fakes.groups import FakeGroupStore
from tests.support.fakes.jobs import FakeJobStore
from tests.support.fakes.notifier import FakeNotifier
from tests.support.fakes.openindex import FakeOpenIndex
from tests.support.fakes.retention import FakeRetentionIndex
from tests.support.fakes.telemetry import FakeTelemetry
from tests.support.fakes.time import FakeClock, FakeRandomness
from tests.support.fakes.world import World

__all__ = [
    "FakeAlertSink",
    "FakeBlobStore",
    "FakeBus",
    "FakeCaseStore",
    "FakeClock",
    "FakeGroupStore",
    "FakeJobStore",
    "FakeNotifier",
    "FakeOpenIndex",
    "FakeRandomness",
    "FakeRetentionIndex",
    "FakeTelemetry",
    "Faults",
    "Sent",
    "World",
]
