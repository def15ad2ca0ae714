"""One changed byte: of the body, of a signed header, of the query, of the signature, or of a secret.

A `Vector` is a request that verifies, with what it is checked against; `changes` and `flips` make requests
(or secrets) that differ in a single byte, none of which may be accepted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from shared.webhooks.base import Jwk, Options, Scheme, Trust, UnusableSecret, WebhookRequest
from shared.webhooks.rejections import WebhookRejected
from tests.unit.shared.webhooks.requests import NOW

BODY, QUERY, SECRET, KEY, HEADER, NAMED = "body", "query", "secret", "key", "header ", "secret "


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """A good request. `signed_headers` are those of which every byte counts, the signature's among them.

    Published examples have secrets too short for us: their `key` is given instead of the `secret`. `named`
    holds the scheme's further secrets as text; with `signed_query` each byte of the query counts.
    """

    name: str
    scheme: Scheme[Any]
    request: WebhookRequest
    signed_headers: tuple[str, ...]
    now: datetime = NOW
    secret: str | None = None
    key: bytes | None = None
    options: Options = field(default_factory=Options)
    named: Mapping[str, str] = field(default_factory=dict)
    published: Sequence[Jwk] = ()
    signed_query: bool = False


def refusal(vector: Vector) -> WebhookRejected | UnusableSecret | None:
    """Why the vector is refused; None where it verifies. Any other exception is the test's failure."""
    scheme, options = vector.scheme, vector.options
    try:
        keys = [] if vector.secret is None else [scheme.load_key(vector.secret, options)]
        trust = Trust(
            options=options,
            now=vector.now,
            tolerance=timedelta(minutes=5),
            keys=keys if vector.key is None else [vector.key],
            named={name: scheme.load_key(secret, options) for name, secret in vector.named.items()},
            published=vector.published,
        )
        scheme.verify(vector.request, trust)
    except (WebhookRejected, UnusableSecret) as refused:
        return refused
    return None


def changes(vectors: Sequence[Vector]) -> st.SearchStrategy[Vector]:
    """One of the vectors with any one byte replaced by any other."""

    @st.composite
    def drawn(draw: st.DrawFn) -> Vector:
        vector = draw(st.sampled_from(vectors))
        part, content = draw(st.sampled_from(sorted(parts(vector).items())))
        place = draw(st.integers(0, len(content) - 1))
        byte = draw(st.integers(0, 255).filter(lambda new: new != content[place]))
        return changed(vector, part, place, byte)

    return drawn()


def flips(vector: Vector) -> Iterator[Vector]:
    """The vector with the lowest bit of one byte turned over, for each byte of each part."""
    for part, content in parts(vector).items():
        for place, byte in enumerate(content):
            yield changed(vector, part, place, byte ^ 1)


def parts(vector: Vector) -> dict[str, bytes]:
    """What is signed, signs, or is the secret: its name and its bytes; empty parts are left out."""
    found = {BODY: vector.request.body}
    found |= {HEADER + name: _bytes(vector.request.headers[name]) for name in vector.signed_headers}
    found |= {NAMED + name: _bytes(secret) for name, secret in vector.named.items()}
    if vector.secret is not None:
        found[SECRET] = _bytes(vector.secret)
    if vector.key is not None:
        found[KEY] = vector.key
    if vector.signed_query:
        found[QUERY] = _bytes(vector.request.query)
    return {name: content for name, content in found.items() if content}


def changed(vector: Vector, part: str, place: int, byte: int) -> Vector:
    """The vector with `byte` at `place` of `part`."""
    content = parts(vector)[part]
    content = content[:place] + bytes([byte]) + content[place + 1 :]
    text = content.decode("latin-1")
    name = f"{vector.name}: {part}[{place}] = {byte:#04x}"
    request = vector.request
    if part == BODY:
        return replace(vector, name=name, request=replace(request, body=content))
    if part == KEY:
        return replace(vector, name=name, key=content)
    if part == SECRET:
        return replace(vector, name=name, secret=text)
    if part.startswith(NAMED):
        return replace(vector, name=name, named={**vector.named, part.removeprefix(NAMED): text})
    if part == QUERY:
        url = request.url.partition("?")[0]
        return replace(vector, name=name, request=replace(request, query=text, url=f"{url}?{text}"))
    headers = {**request.headers, part.removeprefix(HEADER): text}
    return replace(vector, name=name, request=replace(request, headers=headers))


def _bytes(text: str) -> bytes:
    return text.encode("latin-1")
