"""Large texts of JSON, a window in which small ones are large, and what reading a text comes to."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from shared.webhooks import json_window, long_texts, parsing
from shared.webhooks.json_documents import in_full
from shared.webhooks.json_window import WINDOW
from shared.webhooks.rejections import WebhookRejected

NARROW = 140
"""The least window that holds any number."""


@contextmanager
def narrow(window: int = NARROW) -> Iterator[None]:
    """Whatever is larger than a window is large."""
    patch = pytest.MonkeyPatch()
    patch.setattr(json_window, "WINDOW", window)
    patch.setattr(json_window, "_FIRST_LOOK", 20)
    patch.setattr(long_texts, "_PIECE", 32)
    patch.setattr(parsing, "LARGE", 0)
    try:
        yield
    finally:
        patch.undo()


def written(document: Any, ascii_only: bool = False, indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else None
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent, separators=separators)
    return text.encode("utf-8", "surrogatepass")


def verdict(parse: Callable[[bytes], Any], body: bytes) -> Any:
    try:
        return in_full(parse(body))
    except WebhookRejected as rejection:
        return type(rejection), str(rejection)


def large_document() -> dict[str, Any]:
    files = [{"path": f"docs/{n}.md", "size": n, "tags": ["a", "é"]} for n in range(2_000)]
    places = {f"crane-{n}": {"berth": n, "note": "🏗"} for n in range(3_000)}
    text = "é\n" * WINDOW
    return {"id": "one", "files": files, "more": {"places": places, "text": text}, "pad": ["x" * 9_999] * 99}
