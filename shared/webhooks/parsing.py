"""Bodies, after verification: strict JSON in UTF-8 (`strict_json`), forms, and which of them it is."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from shared.printable import clean_text
from shared.sizes import MIB
from shared.webhooks.base import WebhookRequest
from shared.webhooks.json_documents import to_json
from shared.webhooks.json_values import check_values
from shared.webhooks.large_json import read_large
from shared.webhooks.rejections import BodyTooLarge, MalformedBody, UnsupportedMediaType
from shared.webhooks.strict_json import NotStrict, TooDeep, read

LARGE = MIB
"""A body over this is not decoded as a whole."""
MOST_FORM_FIELDS = 1000
LARGEST_FORM = MIB
"""Whatever a source's max_body: what Slack and Twilio put into a form is far smaller, and its fields are
in memory several times while they are read. GitHub's forms hold one JSON text and are read in another way.
"""
LARGEST_BATCH = 4 * MIB
"""Whatever a source's max_body: each event of a batch is held beside the others, decoded and in its own JSON.
Meta sends up to 3 MB, Event Grid 1 MB (https://learn.microsoft.com/azure/event-grid/quotas-limits).
"""
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
_UTF8_NAMES = frozenset({"utf-8", "utf8", "us-ascii"})


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`. Raises MalformedBody, which never quotes the body."""
    document = parse_json(body)
    if not isinstance(document, dict):
        raise MalformedBody("The body is JSON, but not an object.")
    return document


def parse_objects(body: bytes) -> list[dict[str, Any]]:
    """The JSON objects in a JSON list, a batch. Raises MalformedBody or BodyTooLarge."""
    check_batch(body)
    document = parse_json(body)
    if not isinstance(document, list) or not all(isinstance(item, dict) for item in document):
        raise MalformedBody("The body is JSON, but not a list of objects.")
    return document


def check_batch(body: bytes) -> None:
    """Raises BodyTooLarge for a body over LARGEST_BATCH."""
    if len(body) > LARGEST_BATCH:
        raise BodyTooLarge(f"The body is a batch over {LARGEST_BATCH:,} bytes.")


def parse_json(body: bytes) -> Any:
    """The JSON value in `body`; what is long in a large one stays undecoded (`large_json`).

    Raises MalformedBody, or BodyTooLarge for too many values.
    """
    check_values(body)
    if not body or body.isspace():
        raise MalformedBody("The body is empty.")
    try:
        return read_large(body) if len(body) > LARGE else read(body)
    except NotStrict as error:
        raise MalformedBody(str(error)) from None
    except RecursionError:
        raise MalformedBody(str(TooDeep())) from None
    except UnicodeDecodeError:
        raise MalformedBody("The body is not UTF-8.") from None
    except ValueError:
        raise MalformedBody("The body is not JSON.") from None


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
        raise MalformedBody(f"The body is not a form in UTF-8 of at most {most:,} fields.") from None


def text_of(document: Mapping[str, Any], name: str) -> str:
    """A field that must be a text with something in it. Raises MalformedBody, which names the field."""
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise MalformedBody(f"`{name}` in the body is missing or not text.")
    return clean_text(value)


def own_json(item: object) -> bytes:
    """One event's own JSON, taken out of a batch."""
    return to_json(item)
