"""What is asked of the outside and what it answers, free of any HTTP library."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from email.policy import HTTP
from typing import Any, Self
from urllib.parse import parse_qsl

JSON_TYPE = "application/json"
_FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Call:
    """One request, arrived at `at` (seconds since 1970). Header names are in lower case.

    `reply` is what the script wants the answer to say, where the script makes no fault.
    """

    method: str
    path: str
    at: float
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    reply: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str | None:
        """The idempotency key (draft-ietf-httpapi-idempotency-key-header)."""
        return self.headers.get("idempotency-key")

    def fields(self) -> dict[str, Any]:
        """The body's JSON object or form fields; a file is told by its name and size. Raises Refused."""
        content_type = self.headers.get("content-type", "")
        if content_type.startswith("multipart/form-data"):
            return _multipart(content_type, self.body)
        if content_type.startswith(_FORM_TYPE):
            return dict(parse_qsl(self.body.decode(errors="replace"), keep_blank_values=True))
        return _json_object(self.body)


@dataclass(frozen=True, slots=True)
class Post:
    """A message that the outside sends because of a call."""

    url: str
    message_id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a call, and what is sent to others because of it."""

    status: int
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)
    posts: tuple[Post, ...] = ()

    @classmethod
    def json(cls, value: object, status: int = 200, *, posts: tuple[Post, ...] = ()) -> Self:
        """An answer in JSON."""
        return cls(status, json.dumps(value).encode(), posts=posts)

    def with_headers(self, **headers: str) -> "Answer":
        """The same with more headers; an underscore stands for a hyphen."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **more})


class Refused(Exception):
    """The call is refused, as the real service would; nothing happened."""

    def __init__(self, status: int, code: str | int, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param


def fingerprint(value: object) -> str:
    """What tells one request from another, as 16 characters; `value` is JSON-able or bytes."""
    content = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "invalid_json", "The body is not JSON.") from error
    if not isinstance(value, dict):
        raise Refused(400, "invalid_json", "The body is not a JSON object.")
    return value


def _multipart(content_type: str, body: bytes) -> dict[str, Any]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    parsed = message_from_bytes(head + body, policy=HTTP)
    if not parsed.is_multipart():
        raise Refused(400, "invalid_multipart", "The body is not multipart/form-data.")
    fields: dict[str, Any] = {}
    for part in parsed.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            raise Refused(400, "invalid_multipart", "A part of the body has no name.")
        filename = part.get_filename()
        fields[name] = (
            content.decode(errors="replace")
            if filename is None
            else {"filename": filename, "bytes": len(content), "sha256": fingerprint(content)}
        )
    return fields
