"""Strict JSON, after verification: what two parsers could read differently is refused.

UTF-8 without a byte order mark, no duplicate keys, no NaN or Infinity, bounded depth and number length
(after RFC 8259 and the stricter RFC 7493).
"""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from shared.printable import clean_text
from shared.sizes import MIB
from shared.webhooks.base import WebhookRequest
from shared.webhooks.json_memory import check_values, put_back, take_out
from shared.webhooks.long_texts import LongText, to_json
from shared.webhooks.rejections import BodyTooLarge, MalformedBody, UnsupportedMediaType

DEEPEST = 64
LONGEST_NUMBER = 128
MOST_FORM_FIELDS = 1000
LARGEST_FORM = MIB
"""Whatever a source's max_body: what Slack and Twilio put into a form is far smaller, and its fields are
in memory several times while they are read. GitHub's forms hold one JSON text and are read in another way.
"""
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
_UTF8_NAMES = frozenset({"utf-8", "utf8", "us-ascii"})


class _NotStrict(Exception):
    """Leaves the decoder; its text is our own."""


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`. Raises MalformedBody, which never quotes the body."""
    document = parse_json(body)
    if not isinstance(document, dict):
        raise MalformedBody("The body is JSON, but not an object.")
    return document


def parse_objects(body: bytes) -> list[dict[str, Any]]:
    """The JSON objects in a JSON list. Raises MalformedBody."""
    document = parse_json(body)
    if not isinstance(document, list) or not all(isinstance(item, dict) for item in document):
        raise MalformedBody("The body is JSON, but not a list of objects.")
    return document


def parse_json(body: bytes) -> Any:
    """The JSON value in `body`; a long string of a large one is a LongText in it.

    Raises MalformedBody, or BodyTooLarge for too many values.
    """
    check_values(body)
    try:
        text, taken = _short_text(body)
    except UnicodeDecodeError:
        raise MalformedBody("The body is not UTF-8.") from None
    if not text.strip(" \t\r\n"):
        raise MalformedBody("The body is empty.")
    try:
        document = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
            parse_int=_bounded_int,
            parse_float=_bounded_float,
        )
    except _NotStrict as error:
        raise MalformedBody(str(error)) from None
    except RecursionError:
        raise MalformedBody(_TOO_DEEP) from None
    except ValueError:
        raise MalformedBody("The body is not JSON.") from None
    _check_depth(document)
    return put_back(document, taken)


def _short_text(body: bytes) -> tuple[str, Mapping[str, LongText]]:
    short, taken = take_out(body)
    return short.decode("utf-8"), taken


_TOO_DEEP = f"The body is nested deeper than {DEEPEST} levels."


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotStrict("An object in the body has the same key twice.")
    return found


def _no_constant(_name: str) -> NoReturn:
    raise _NotStrict("The body holds NaN or Infinity, which are not JSON.")


def _bounded_int(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise _NotStrict(f"The body holds a number longer than {LONGEST_NUMBER} characters.")
    return int(text)


def _bounded_float(text: str) -> float:
    if len(text) > LONGEST_NUMBER:
        raise _NotStrict(f"The body holds a number longer than {LONGEST_NUMBER} characters.")
    value = float(text)
    if math.isinf(value):
        raise _NotStrict("The body holds a number beyond the range of a double.")
    return value


def _check_depth(document: Any) -> None:
    level: list[Any] = [document] if isinstance(document, dict | list) else []
    for _ in range(DEEPEST):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise MalformedBody(_TOO_DEEP)


def require_identity_encoding(request: WebhookRequest) -> None:
    """Signatures cover the bytes on the wire; compressed bodies are refused rather than guessed about."""
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity"}:
        raise UnsupportedMediaType("The body has a Content-Encoding. Send it without compression.")


def media_type(request: WebhookRequest) -> str:
    """The media type in lower case, without parameters. Raises UnsupportedMediaType for a foreign charset."""
    kind, *parameters = request.headers.get("content-type", "").split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if name.strip().lower() == "charset" and charset not in _UTF8_NAMES:
            raise UnsupportedMediaType("The body's charset is not UTF-8.")
    return kind.strip().lower()


def require_json(request: WebhookRequest) -> str:
    """The media type, if it is JSON or a `+json` kind and not compressed. Raises UnsupportedMediaType."""
    require_identity_encoding(request)
    kind = media_type(request)
    if kind != JSON and not (kind.startswith("application/") and kind.endswith("+json")):
        raise UnsupportedMediaType(f"The body is not {JSON}.")
    return kind


def form_fields(body: bytes, most: int = MOST_FORM_FIELDS) -> list[tuple[str, str]]:
    """The fields of a form in the order sent, empty values too. Raises MalformedBody or BodyTooLarge."""
    if len(body) > LARGEST_FORM:
        raise BodyTooLarge(f"The body is a form over {LARGEST_FORM:,} bytes.")
    try:
        return parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError:
        raise MalformedBody("The body is not a form in UTF-8.") from None


def text_of(document: Mapping[str, Any], name: str) -> str:
    """A field that must be a text with something in it. Raises MalformedBody, which names the field."""
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedBody(f"`{name}` in the body is missing or not text.")
    return clean_text(value)


def own_json(item: object) -> bytes:
    """One event's own JSON, taken out of a batch."""
    return to_json(item)
