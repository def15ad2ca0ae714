"""`dev.py send SOURCE FILE`: signs a file as a source's sender would and posts it."""

import http.client
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from devhost.commands.signing import RequestError, SignedRequest, parse, signed_request

_TIMEOUT_SECONDS = 60.0
_SUCCESS = range(200, 300)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and the milliseconds until it was read."""

    status: int
    reason: str
    milliseconds: float
    body: bytes


def main(arguments: Sequence[str]) -> int:
    """Print status, milliseconds and body of the answer; 0 for 2xx, else 1."""
    options = parse("send", "Signs a file as a source's sender would and posts it.", arguments)
    answer = post(signed_request(options))
    print(f"{answer.status} {answer.reason}, {answer.milliseconds:.0f} ms", flush=True)
    if answer.body:
        sys.stdout.buffer.write(answer.body.rstrip(b"\n") + b"\n")
        sys.stdout.buffer.flush()
    return 0 if answer.status in _SUCCESS else 1


def post(request: SignedRequest) -> Answer:
    """Redirects are not followed, for senders do not. Raises RequestError without an answer."""
    parts = urlsplit(request.address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=_TIMEOUT_SECONDS)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    begun = time.perf_counter()
    try:
        connection.request("POST", path, request.body, dict(request.headers))
        response = connection.getresponse()
        body = response.read()
    except ConnectionRefusedError as refused:
        raise RequestError(
            f"Nothing listens at {parts.netloc}. Start the stack with `python3 dev.py up`, or correct --url."
        ) from refused
    except TimeoutError as late:
        raise RequestError(f"{parts.netloc} did not answer within {_TIMEOUT_SECONDS:.0f} s.") from late
    except (OSError, http.client.HTTPException, ValueError) as fault:
        raise RequestError(f"{parts.netloc} gave no answer: {fault}.") from fault
    finally:
        connection.close()
    return Answer(response.status, response.reason, (time.perf_counter() - begun) * 1000, body)
