"""Which part of the outside a call is for, and how that part says errors."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from devhost.outside.messages import Answer, Call, Refused
from devhost.outside.scripts import matches

Handler = Callable[[Call, tuple[str, ...]], Answer]
"""Handles a call; the texts are what the `*` of the route's path stand for. Raises Refused."""

Errors = Callable[[Refused], object]
"""The body of an error, as JSON-able data."""

_WORDS = {
    400: "Bad request.",
    401: "Not signed in.",
    403: "Not allowed.",
    404: "Not found.",
    409: "Conflict.",
    429: "Too many requests.",
    500: "The server had an error.",
    503: "The service is overloaded.",
}


@dataclass(frozen=True, slots=True)
class Route:
    """One operation. `path` may have `*` for a segment."""

    method: str
    path: str
    handle: Handler
    errors: Errors

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


class Routes:
    """All operations; the first that fits is taken."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = tuple(routes)

    def handle(self, call: Call) -> Answer:
        """The right answer to a call."""
        for route in self._routes:
            found = matches(route.path, call.path) if route.method == call.method else None
            if found is not None:
                try:
                    return route.handle(call, found)
                except Refused as refused:
                    return Answer.json(route.errors(refused), refused.status)
        return Answer.json(self._errors(call)(Refused(404, "not_found", "There is no such operation.")), 404)

    def name(self, call: Call) -> str:
        """The route's method and path, for counting calls."""
        for route in self._routes:
            if route.method == call.method and matches(route.path, call.path) is not None:
                return route.name
        return "unknown"

    def error(self, call: Call, status: int, code: str = "") -> Answer:
        """An error that a script wants, in the words of the service that is called."""
        usual = "rate_limit_exceeded" if status == 429 else "server_error" if status >= 500 else "refused"
        refused = Refused(status, code or usual, _WORDS.get(status, "An error."))
        return Answer.json(self._errors(call)(refused), status)

    def _errors(self, call: Call) -> Errors:
        for route in self._routes:
            if matches(route.path, call.path) is not None:
                return route.errors
        return plain_errors


def plain_errors(refused: Refused) -> object:
    """As RFC 9457 has it."""
    return {"title": str(refused.code), "status": refused.status, "detail": refused.message}


def problem(status: int, title: str, detail: str) -> Answer:
    """An error of the outside itself."""
    return Answer.json(plain_errors(Refused(status, title, detail)), status)
