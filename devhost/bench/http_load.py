"""Requests over kept connections, some at a time, each one timed."""

import http.client
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Load:
    """What came back: milliseconds of each request, how many had which status, and seconds in all."""

    milliseconds: tuple[float, ...]
    statuses: Mapping[int, int]
    seconds: float


def send(url: str, count: int, at_once: int, make: Callable[[int], Request]) -> Load:
    """Send `count` requests of `make(number)` from `at_once` threads. Raises OSError without an answer."""
    netloc = urlsplit(url).netloc
    numbers = iter(range(count))
    lock = threading.Lock()
    taken: list[tuple[float, int]] = []
    failures: list[BaseException] = []

    def work() -> None:
        connection = http.client.HTTPConnection(netloc, timeout=_TIMEOUT_SECONDS)
        try:
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                request = make(number)
                begun = time.perf_counter()
                connection.request("POST", request.path, request.body, dict(request.headers))
                answer = connection.getresponse()
                answer.read()
                taken.append(((time.perf_counter() - begun) * 1000, answer.status))
        except (OSError, http.client.HTTPException) as failure:
            failures.append(failure)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begun
    if failures:
        raise OSError("A request got no answer.") from failures[0]
    statuses = {status: sum(1 for _, found in taken if found == status) for _, status in taken}
    return Load(tuple(milliseconds for milliseconds, _ in taken), statuses, seconds)
