"""The requests that are measured, signed as their senders sign them."""

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from devhost.bench.http_load import Request
from devhost.senders import standard
from devhost.stack import Stack

Make = Callable[[int], Request]
_TEXT = "The harbour crane was greased in May. " * 70  # a body of about 3 KiB


def nothing(_number: int) -> Request:
    """For the function that does nothing: the same body."""
    return Request("/api/nothing", {"content-type": "application/json"}, _note("note.created"))


def webhook(stack: Stack, event: str) -> Make:
    """An event of this type, each time another one, as the source `events` sends it."""
    secret = stack.secrets["events"]

    def make(_number: int) -> Request:
        identity = f"msg_{uuid.uuid4().hex}"
        headers, _, body = standard.signed(_note(event), secret, now=datetime.now(UTC), message_id=identity)
        return Request("/api/webhooks/events", headers, body)

    return make


def _note(event: str) -> bytes:
    return json.dumps({"type": event, "data": {"text": _TEXT, "user": "user_204"}}).encode()
