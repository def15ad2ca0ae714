"""The answer to a webhook beside a function that does nothing, in the same host and run."""

import base64
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Callable

from devhost.bench.figures import Figure, median, percentile
from devhost.bench.http_load import Load, Request, send
from devhost.bench.processes import cpu_seconds
from devhost.stack import Stack

Make = Callable[[int], Request]
_WARM, _COUNT, _AT_ONCE = 50, 400, 8
_TEXT = "The harbour crane was greased in May. " * 70  # a body of about 3 KiB


def run(stack: Stack) -> list[Figure]:
    """One after the other, then eight at a time; the stack runs `devhost/bench/app`."""
    _measure(stack, _nothing, _WARM, 1)
    _measure(stack, _webhook(stack), _WARM, 1)
    nothing, nothing_cpu = _measure(stack, _nothing, _COUNT, 1)
    webhook, webhook_cpu = _measure(stack, _webhook(stack), _COUNT, 1)
    together, _ = _measure(stack, _webhook(stack), _COUNT, _AT_ONCE)
    idle, busy = median(nothing.milliseconds), median(webhook.milliseconds)
    rows = [
        Figure("do-nothing function, median answer", idle, "ms", f"{_COUNT} one after the other"),
        Figure("webhook of 3 KiB, median answer", busy, "ms", "verified, stored, queued"),
        Figure("webhook, 99 of 100 within", percentile(webhook.milliseconds, 0.99), "ms"),
        Figure("ratio of the medians", busy / idle, "times"),
        Figure("webhooks accepted, 8 at a time", _COUNT / together.seconds, "per second"),
    ]
    if nothing_cpu is not None and webhook_cpu is not None:
        rows += [
            Figure("CPU of the host, do-nothing function", nothing_cpu * 1000 / _COUNT, "ms each"),
            Figure("CPU of the host, webhook", webhook_cpu * 1000 / _COUNT, "ms each", "jobs run beside it"),
        ]
    return rows


def _measure(stack: Stack, make: Make, count: int, at_once: int) -> tuple[Load, float | None]:
    pid = stack.pids["host"]
    before = cpu_seconds(pid)
    load = send(stack.url, count, at_once, make)
    after = cpu_seconds(pid)
    if set(load.statuses) != {202}:
        raise RuntimeError(f"Not every request was answered 202: {dict(load.statuses)}")
    return load, None if before is None or after is None else after - before


def _nothing(_number: int) -> Request:
    return Request("/api/nothing", {"Content-Type": "application/json"}, _body())


def _webhook(stack: Stack) -> Make:
    key = base64.b64decode(stack.secrets["events"].removeprefix("whsec_"))

    def make(_number: int) -> Request:
        body, message_id, now = _body(), f"msg_{uuid.uuid4().hex}", str(int(time.time()))
        signed = f"{message_id}.{now}.".encode() + body
        signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        headers = {
            "Content-Type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": now,
            "webhook-signature": f"v1,{signature}",
        }
        return Request("/api/webhooks/events", headers, body)

    return make


def _body() -> bytes:
    return json.dumps({"type": "note.created", "data": {"text": _TEXT, "user": "user_204"}}).encode()
