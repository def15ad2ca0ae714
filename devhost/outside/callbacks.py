"""A receiver of callbacks, and the callback that tells of a video's end."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from devhost.outside.effects import Effects, Kind
from devhost.outside.messages import Answer, Call, Post
from devhost.outside.routes import Route, plain_errors
from devhost.outside.settings import Settings

MOST_CALLBACKS = 2_000
_KEPT_BODY = 16 * 1024


class Callbacks:
    """What `POST /callbacks`, or `/callbacks/NAME`, received. The last 2,000 are kept, all are counted.

    Verifies nothing. A message is told from its repeat by `webhook-id`, as Standard Webhooks wants of
    receivers (https://www.standardwebhooks.com): a repeat is a repeat and no effect.
    """

    def __init__(self, effects: Effects, settings: Callable[[], Settings]) -> None:
        self._effects = effects
        self._settings = settings
        self._received: deque[dict[str, Any]] = deque(maxlen=MOST_CALLBACKS)

    def routes(self) -> Iterator[Route]:
        """The receiver's operations."""
        yield Route("POST", "/callbacks", self._receive, plain_errors)
        yield Route("POST", "/callbacks/*", self._receive, plain_errors)

    def received(self) -> list[dict[str, Any]]:
        """The oldest first: path, headers, body (its first 16 KiB), at."""
        return list(self._received)

    def _receive(self, call: Call, name: tuple[str, ...]) -> Answer:
        self._received.append(
            {
                "path": call.path,
                "headers": dict(call.headers),
                "body": call.body[:_KEPT_BODY].decode(errors="replace"),
                "at": call.at,
            }
        )
        return self._effects.once(
            Kind.CALLBACK,
            _keyed_by_message_id(call),
            lambda: Answer(204),
            request=call.body.decode(errors="replace"),
            reference=name[0] if name else None,
            key_window=self._settings().key_window_seconds,
        )


def completion(video: dict[str, Any], url: str) -> Post:
    """The event of OpenAI's webhooks (https://platform.openai.com/docs/guides/webhooks)."""
    event = {
        "id": f"evt_{video['id']}",
        "object": "event",
        "created_at": video["completed_at"] or video["created_at"],
        "type": f"video.{video['status']}",
        "data": {"id": video["id"]},
    }
    return Post(url, f"wh_{video['id']}", json.dumps(event).encode())


def _keyed_by_message_id(call: Call) -> Call:
    message_id = call.headers.get("webhook-id")
    if message_id is None:
        return call
    return Call(
        call.method,
        call.path,
        call.at,
        call.query,
        {**call.headers, "idempotency-key": message_id},
        call.body,
    )
