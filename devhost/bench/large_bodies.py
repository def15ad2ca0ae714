"""The host's memory while bodies of 25 MiB, the most that any sender sends, come in."""

import hashlib
import hmac
import json
import time
import uuid

from devhost.bench.figures import Figure
from devhost.bench.http_load import Request, send
from devhost.bench.processes import peak_bytes, reset_peak, resident_bytes
from devhost.stack import Stack

_MIB = 1024 * 1024
_SIZE = 25 * _MIB
_AT_ONCE = 50
_REST_SECONDS = 2.0


def run(stack: Stack) -> list[Figure]:
    """One such body, and fifty at once; nothing where the system does not tell a peak."""
    pid = stack.pids["host"]
    if peak_bytes(pid) is None:
        return []
    one = _growth(stack, 1)
    many = _growth(stack, _AT_ONCE)
    return [
        Figure("peak over one body of 25 MiB", one / _SIZE, "times it", f"{one / _MIB:.0f} MiB"),
        Figure(f"peak over {_AT_ONCE} at once", many / _SIZE, "times one", f"{many / _MIB:.0f} MiB"),
    ]


def _growth(stack: Stack, count: int) -> int:
    """By how much the peak was above what the host held before."""
    pid = stack.pids["host"]
    time.sleep(_REST_SECONDS)
    reset_peak(pid)
    before = resident_bytes(pid) or 0
    request = _request(stack)
    load = send(stack.url, count, count, lambda _number: request)
    if not set(load.statuses) <= {200, 202, 503} or stack.pids["host"] != pid:
        raise RuntimeError(f"The host did not hold out: {dict(load.statuses)}")
    return max(0, (peak_bytes(pid) or 0) - before)


def _request(stack: Stack) -> Request:
    secret = stack.secrets["github"].encode()
    frame = json.dumps({"action": "bench", "text": ""}).encode()
    body = frame[:-2] + b"x" * (_SIZE - len(frame)) + frame[-2:]
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": "bench",  # no route wants it: verified, parsed, ignored
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(),
    }
    return Request("/api/webhooks/github", headers, body)
