"""Large webhooks of GitHub, which sends the largest: of what they are made decides what they cost."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from devhost.bench.http_load import Request
from devhost.senders import github

IGNORED, STORED, TEXT = "ignored", "stored", "text"
"""Actions of the event `bench`: no route wants it, the whole event is the input, its text is."""
ROUTES = f"""
[[sources.github.routes]]
event = "bench.{STORED}"
task = "summarize_document"

[[sources.github.routes]]
event = "bench.{TEXT}"
task = "summarize_document"
input = "text"
"""
"""To be put at the end of pipeline.toml."""

_SAMPLE = 100_000


@dataclass(frozen=True, slots=True)
class Kind:
    """What is sent, under which action, and the status it is answered with."""

    name: str
    text: Callable[[int], str]
    action: str = STORED
    status: int = 202
    form: bool = False


def _plain(size: int) -> str:
    return json.dumps("x" * size)


def _escapes(size: int) -> str:
    return '"' + r"\n\u00e9 " * (size // 9) + '"'


def _emoji(size: int) -> str:
    return json.dumps("🏗" + "x" * size, ensure_ascii=False)


def _accents(size: int) -> str:
    return json.dumps("é" * (size // 2), ensure_ascii=False)


def _values(size: int) -> str:
    """As of a long list of files: a value is about 30 bytes long."""
    return json.dumps([f"docs/harbour/cranes/{number:07}.md" for number in range(size // 38)])


def _records(size: int) -> str:
    """As of commits or line items."""
    record = {"id": 1234567, "message": "Lift the jib. " * 14, "paid": True, "tags": ["crane"]}
    return json.dumps([record] * (size // 260))


def _wide_texts(size: int) -> str:
    """One wide character in each makes all that is decoded with it four times as large."""
    return json.dumps(["🏗" + "x" * 3_000] * (size // 3_010), ensure_ascii=False)


PLAIN = Kind("JSON of one string, ignored", _plain, IGNORED, 200)
KINDS = (
    PLAIN,
    Kind("JSON of one string, stored", _plain),
    Kind("JSON full of escapes, stored", _escapes),
    Kind("JSON with an emoji, its text stored", _emoji, TEXT),
    Kind("form, stored", _plain, form=True),
    Kind("form full of percent escapes, stored", _accents, form=True),
    Kind("form, its text stored", _plain, TEXT, form=True),
    Kind("JSON of short values, stored", _values),
    Kind("JSON of short values, its list stored", _values, TEXT),
    Kind("JSON of small objects, stored", _records),
    Kind("JSON of texts with an emoji each, stored", _wide_texts),
)


def request(kind: Kind, size: int, secret: str) -> Request:
    """One of this kind, of `size` bytes or slightly less."""
    length = int(size * _SAMPLE / len(_sent(kind, _SAMPLE, secret).body))
    while len((sent := _sent(kind, length, secret)).body) > size:
        length -= len(sent.body) - size + _SAMPLE // 20
    return sent


def _sent(kind: Kind, length: int, secret: str) -> Request:
    """With a text of about `length` bytes, before a form's escapes are put in."""
    body, now = _body(kind, kind.text(length)), datetime.now(UTC)
    headers, _, sent = github.signed(body, secret, now=now, event="bench", form=kind.form)
    return Request("/api/webhooks/github", headers, sent)


def _body(kind: Kind, text: str) -> bytes:
    return f'{{"action":"{kind.action}","text":{text}}}'.encode()
