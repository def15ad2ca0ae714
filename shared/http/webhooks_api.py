"""`POST /webhooks/{source}`: the signature is the authentication."""

from collections.abc import Sequence
from typing import Any, assert_never

from shared.http.exchange import HttpAnswer, HttpRequest, answer_json, unavailable
from shared.intake import Accepted, Ignored, Intake, Receipt
from shared.webhooks.base import Reply, WebhookRequest
from shared.webhooks.large_bodies import Overloaded
from shared.webhooks.secrets import SourceNotConfigured


async def receive_webhook(intake: Intake, request: HttpRequest) -> HttpAnswer:
    """202 for a new event, 200 for a known or unwanted one; a batch answers with a list.

    Handshakes, and senders that want an answer of their own form, get theirs.
    """
    source = request.params.get("source", "")
    webhook = WebhookRequest(
        method=request.method,
        headers=request.headers,
        query=request.url.partition("?")[2],
        url=request.url,
        body=request.body,
    )
    try:
        receipts = await intake.receive(source, webhook)
    except (SourceNotConfigured, Overloaded) as error:
        return unavailable(error.code, str(error))
    if isinstance(receipts, Reply):
        return HttpAnswer(
            status=receipts.status,
            body=receipts.body,
            content_type=receipts.content_type,
            headers=receipts.headers,
        )
    return _answer(receipts, intake.accepted_status(source))


def _answer(receipts: Sequence[Receipt], accepted: int) -> HttpAnswer:
    if len(receipts) != 1:
        taken = [receipt for receipt in receipts if isinstance(receipt, Accepted)]
        if not taken:
            return answer_json(200, {"status": "ignored"})
        new = any(not receipt.duplicate for receipt in taken)
        jobs = [_job(receipt) for receipt in taken]
        return answer_json(accepted if new else 200, {"status": "accepted", "jobs": jobs})
    receipt = receipts[0]
    match receipt:
        case Ignored():
            return answer_json(200, {"status": "ignored"})
        case Accepted():
            return answer_json(
                200 if receipt.duplicate else accepted, {"status": "accepted", **_job(receipt)}
            )
        case _:
            assert_never(receipt)


def _job(receipt: Accepted) -> dict[str, Any]:
    return {"job_id": receipt.job_id, "duplicate": receipt.duplicate}
