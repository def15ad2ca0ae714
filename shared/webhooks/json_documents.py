"""What is made of a document that may hold long values (`large_json`): its JSON, and a copy in full."""

import io
import json
import re
import secrets
from typing import Any

from shared.webhooks.large_json import LongList, LongObject
from shared.webhooks.long_texts import LongText, utf8


def to_json(document: Any) -> bytes:
    """The document as JSON, its long values as they were written. Raises TypeError or ValueError."""
    marks, nonce = list[memoryview](), secrets.token_hex(16)

    def marked(value: Any) -> Any:
        match value:
            case LongText() | LongList() | LongObject():
                marks.append(value.json())
                return f"{nonce} {len(marks) - 1}"
            case dict():
                return {name: marked(part) for name, part in value.items()}
            case list():
                return [marked(part) for part in value]
            case _:
                return value

    text = utf8(json.dumps(marked(document), ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    if not marks:
        return text
    written = io.BytesIO()
    for index, part in enumerate(re.split(rf'"{nonce} ([0-9]+)"'.encode(), text)):
        written.write(marks[int(part)] if index % 2 else part)
    return written.getvalue()


def in_full(document: Any) -> Any:
    """A copy of the document with all its long values decoded, for who must look into them."""
    match document:
        case LongText() | LongList() | LongObject():
            return document.in_full()
        case dict():
            return {name: in_full(value) for name, value in document.items()}
        case list():
            return [in_full(value) for value in document]
        case _:
            return document
