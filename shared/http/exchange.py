"""A request and an answer, free of any framework, and how errors become problem details (RFC 9457)."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, ClassVar

from shared.errors import (
    AfterhookError,
    ConfigurationError,
    RequestRefused,
    TransientError,
    where_raised,
)

log = logging.getLogger("afterhook.http")
RETRY_AFTER_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """As the platform hands it over: header names in lower case, `params` from the route, `query` decoded."""

    method: str
    url: str
    headers: Mapping[str, str]
    params: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    status: int
    body: bytes = field(repr=False)
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


class BadRequest(AfterhookError):
    """The request is not one that this route takes."""

    code: ClassVar[str] = "bad_request"

    def __init__(self, message: str, *, code: str = "bad_request", status: int = 400) -> None:
        super().__init__(message)
        self.problem_code = code
        self.status = status


Handler = Callable[[], Awaitable[HttpAnswer]]


def answer_json(status: int, document: Any, headers: Mapping[str, str] | None = None) -> HttpAnswer:
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return HttpAnswer(status=status, body=body, headers=headers or {})


def problem(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> HttpAnswer:
    """Problem details: `code` is stable, `detail` says what was wrong and what to do, never what was sent."""
    document = {
        "type": f"urn:afterhook:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return HttpAnswer(
        status=status, body=body, content_type="application/problem+json", headers=headers or {}
    )


def unavailable(code: str, detail: str) -> HttpAnswer:
    """Our own fault: the caller should try again."""
    return problem(503, code, detail, {"Retry-After": str(RETRY_AFTER_SECONDS)})


async def answered(handler: Handler) -> HttpAnswer:
    """The handler's answer, or the problem that fits its error. Never raises."""
    try:
        return await handler()
    except RequestRefused as error:
        return problem(error.status, error.code, str(error), error.headers)
    except BadRequest as error:
        return problem(error.status, error.problem_code, str(error))
    except TransientError as error:
        log.warning("answered 503 %s: %s", error.code, error)
        return unavailable(error.code, str(error))
    except ConfigurationError as error:
        log.error("%s", error)
        return unavailable(error.code, "The app's configuration is not valid; its log says what is wrong.")
    except Exception as error:  # noqa: BLE001  whatever it is, it is our own fault
        log.error("unexpected %s: %s", type(error).__name__, where_raised(error))
        return unavailable("internal_error", "Something went wrong here. Try again later.")
