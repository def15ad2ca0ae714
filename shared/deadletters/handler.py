"""The dead-letter function: every message there ends as a case, as a nudge, or as nothing left to do.

It never raises for what a message says: the dead-letter queue has no limit of deliveries and no clean-up,
so a message that always raised would spin for ever. Only an outage of our own makes it wait, then raise.
"""

import logging
from collections.abc import Mapping
from typing import Any, assert_never

from shared.deadletters.filing import file_case, file_unreadable
from shared.deadletters.judgement import (
    BuryAndFile,
    Discard,
    FileCase,
    Judgement,
    LookAgain,
    Orphan,
    judge,
)
from shared.errors import (
    Conflict,
    NewerSchema,
    QueueUnavailable,
    StorageUnavailable,
    UnreadableMessage,
    where_raised,
)
from shared.failpoints import Point, reach
from shared.finishing import announce
from shared.messages import JobMessage, read_message
from shared.notify.outbox import outbox_rows
from shared.nudges import nudge
from shared.ports import Snapshot
from shared.services import Services

log = logging.getLogger("afterhook.deadletters")
OUTAGE_WAIT_SECONDS = 20.0
_TRIES = 5


class DeadLetterHandler:
    """Handles the messages of the jobs queue's dead-letter queue."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def handle(self, body: bytes, properties: Mapping[str, Any], sequence_number: int) -> None:
        """Deal with one message. Raises only after a wait, or the message would come back at once."""
        try:
            await self._handle(body, properties, sequence_number)
        except Exception as error:
            if not isinstance(error, StorageUnavailable | QueueUnavailable | Conflict):
                log.error("dead letter: %s at %s", type(error).__name__, where_raised(error))
            pause = 1.0 if isinstance(error, Conflict) else OUTAGE_WAIT_SECONDS
            await self._services.clock.sleep(pause * (1 + self._services.randomness.fraction()) / 2)
            raise

    async def _handle(self, body: bytes, properties: Mapping[str, Any], sequence_number: int) -> None:
        try:
            message = read_message(body, properties)
        except (UnreadableMessage, NewerSchema) as error:
            await self._keep(body, sequence_number, error.code, f"{error} Its bytes are kept.")
            return
        for _ in range(_TRIES):
            snapshot = await self._services.jobs.load(message.job_id)
            judgement = self._judge(message, snapshot, properties)
            try:
                await self._act(message, snapshot, judgement, body, sequence_number)
            except Conflict:
                continue
            return
        raise Conflict(f"{message.job_id}: the row changed {_TRIES} times while it was judged.")

    def _judge(
        self, message: JobMessage, snapshot: Snapshot | None, properties: Mapping[str, Any]
    ) -> Judgement:
        reason = properties.get("DeadLetterReason")
        return judge(
            message,
            snapshot,
            reason if isinstance(reason, str) else None,
            worker=self._services.worker,
            app_version=self._services.app_version,
        )

    async def _act(
        self,
        message: JobMessage,
        snapshot: Snapshot | None,
        judgement: Judgement,
        body: bytes,
        sequence_number: int,
    ) -> None:
        services = self._services
        match judgement:
            case Discard():
                services.telemetry.count("dead_letters_discarded")
            case LookAgain(until):
                await nudge(services, message, until)
            case Orphan():
                text = f"The message names {message.job_id}, which is not stored. Its bytes are kept."
                await self._keep(body, sequence_number, "no_such_job", text)
            case FileCase():
                assert snapshot is not None
                await self._file(snapshot)
            case BuryAndFile(job):
                assert snapshot is not None
                assert job.failure is not None
                await reach(Point.DEADLETTER_BEFORE_DEAD)
                rows = [services.timeline(job, "dead", code=job.failure.code), *outbox_rows(services, job)]
                await self._file(await services.jobs.commit(snapshot, job, rows))
                services.telemetry.count("jobs_dead", task_type=job.task_type, code=job.failure.code)
            case _:
                assert_never(judgement)

    async def _file(self, snapshot: Snapshot) -> None:
        await reach(Point.DEADLETTER_BEFORE_CASE)
        await file_case(self._services, snapshot)
        await announce(self._services, snapshot.job)
        await reach(Point.DEADLETTER_AFTER_CASE)

    async def _keep(self, body: bytes, sequence_number: int, code: str, text: str) -> None:
        await reach(Point.DEADLETTER_BEFORE_CASE)
        await file_unreadable(
            self._services, sequence_number=sequence_number, body=body, code=code, message=text
        )
        await reach(Point.DEADLETTER_AFTER_CASE)
