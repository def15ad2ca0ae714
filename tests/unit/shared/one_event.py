"""One signed event over the intake."""

from typing import Any

from shared.intake import Intake
from shared.jobs import job_id_for
from shared.webhooks.base import Reply
from tests.support.application import SOURCE, note, webhook
from tests.support.fakes import World

JOB_ID = job_id_for(SOURCE, "", "evt_1")
DOCUMENT = {"type": "document.added", "data": {"document": "inputs/documents/a.pdf", "user": "user_204"}}


async def receive(intake: Intake, world: World, document: Any = None, **request: Any) -> Any:
    sent = webhook(world, note() if document is None else document, **request)
    receipts = await intake.receive(SOURCE, sent)
    assert not isinstance(receipts, Reply)
    (receipt,) = receipts
    return receipt
