"""JSON bodies of the keyed routes: read strictly, refused in our own words."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from shared.http.exchange import BadRequest, HttpRequest
from shared.printable import clean_text
from shared.webhooks.parsing import parse_object
from shared.webhooks.rejections import WebhookRejected

BODY_LIMIT = 1024 * 1024
KEY_LIMIT = 255
B = TypeVar("B", bound=BaseModel)


def read_body(
    model: type[B], request: HttpRequest, refusal: Callable[[type[B], ValidationError], BadRequest]
) -> B:
    """The body as `model`. Raises BadRequest; `refusal` words what a field must be."""
    check_size(request)
    try:
        document = parse_object(request.body)
    except WebhookRejected as error:
        raise BadRequest(str(error), code="malformed_body") from None
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise refusal(model, error) from None


def check_size(request: HttpRequest) -> None:
    """Raises BadRequest for a body over BODY_LIMIT."""
    if len(request.body) > BODY_LIMIT:
        raise BadRequest(f"The body is over {BODY_LIMIT} bytes.", code="body_too_large", status=413)


def wrong_fields(
    model: type[BaseModel], error: ValidationError, shapes: Mapping[str, str]
) -> tuple[list[str], dict[str, ErrorDetails]]:
    """The sentences about fields of a wrong shape, and the details by field.

    They never show what was sent: not even the name of a field that is none.
    """
    details = error.errors(include_url=False, include_context=False)
    fields = {str(item["loc"][0]): item for item in details if item["type"] != "extra_forbidden"}
    texts = [f"`{name}` must be {shapes[name]}." for name in fields if name in shapes]
    if len(fields) < len(details):
        names = ", ".join(f"`{name}`" for name in model.model_fields)
        texts.append(f"There are other fields than {names}.")
    return texts, fields


def content_of(value: Any) -> bytes | None:
    """An input given in a body: text as it is, anything else as JSON."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clean_text(text).encode()


def idempotency_key(request: HttpRequest) -> str | None:
    """The header `Idempotency-Key`. Raises BadRequest for one that is empty, too long or not in UTF-8."""
    key = request.headers.get("idempotency-key")
    if key is not None and (not 0 < len(key) <= KEY_LIMIT or clean_text(key) != key):
        raise BadRequest(f"`Idempotency-Key` must have 1 to {KEY_LIMIT} characters.")
    return key
