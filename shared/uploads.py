"""Documents put into storage by callers: `PUT /inputs/{name}`.

A name is written once. What a job read can then be read again, and a repeat of the same upload is harmless.
"""

import asyncio
import hashlib
import re
from dataclasses import dataclass
from typing import ClassVar

from shared.access import UPLOADS
from shared.documents.errors import DocumentUnreadable, UnsupportedFormat
from shared.documents.formats import DocumentFormat, detect_format
from shared.errors import RequestRefused, StorageUnavailable
from shared.services import Services
from shared.webhooks.large_bodies import aside

TURN_WITHIN_SECONDS = 8.0
"""So long a document waits for other large bodies."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
_TYPES = {
    DocumentFormat.PDF: "application/pdf",
    DocumentFormat.MARKDOWN: "text/markdown; charset=utf-8",
    DocumentFormat.TEXT: "text/plain; charset=utf-8",
}


class UploadRefused(RequestRefused):
    """The document was not stored."""


class BadName(UploadRefused):
    """A name has 1 to 200 letters, digits, dots, hyphens and underscores, and does not end with a dot."""

    code: ClassVar[str] = "bad_input_name"


class EmptyUpload(UploadRefused):
    """The body is empty."""

    code: ClassVar[str] = "malformed_body"


class UploadTooLarge(UploadRefused):
    """The document is larger than [api] max_input."""

    code: ClassVar[str] = "body_too_large"
    status: ClassVar[int] = 413


class UnsupportedUpload(UploadRefused):
    """The document is of a kind that no task reads."""

    code: ClassVar[str] = "unsupported_media_type"
    status: ClassVar[int] = 415


class NameTaken(UploadRefused):
    """Another document has this name. Choose a new one: a stored document is never replaced."""

    code: ClassVar[str] = "input_exists"
    status: ClassVar[int] = 409


@dataclass(frozen=True, slots=True)
class Upload:
    """Where the document lies. `created` is False when this very document was there already."""

    ref: str
    size: int
    sha256: str
    content_type: str
    created: bool


async def upload(services: Services, name: str, content: bytes, content_type: str | None) -> Upload:
    """Store `content`. Raises UploadRefused, Overloaded or StorageUnavailable."""
    if not _NAME.fullmatch(name) or name.endswith("."):
        raise BadName
    limit = services.pipeline.api.max_input
    if len(content) > limit:
        raise UploadTooLarge(f"The document is over the limit of {limit:,} bytes ([api] max_input).")
    if not content:
        raise EmptyUpload
    until = asyncio.get_running_loop().time() + TURN_WITHIN_SECONDS
    async with services.large_bodies.turn(len(content), until):
        return await _store(services, name, content, content_type)


async def _store(services: Services, name: str, content: bytes, content_type: str | None) -> Upload:
    kind, digest = await aside(content, lambda: _described(content, name, content_type))
    ref = f"{UPLOADS}{name}"
    created = await services.blobs.put_if_absent(ref, content, kind)
    if not created and not await _is_same(services, ref, content):
        raise NameTaken
    return Upload(ref, len(content), digest, kind, created)


def _described(content: bytes, name: str, content_type: str | None) -> tuple[str, str]:
    """The document's media type and hash. Raises UploadRefused."""
    return _TYPES[_format(content, name, content_type)], hashlib.sha256(content).hexdigest()


def _format(content: bytes, name: str, content_type: str | None) -> DocumentFormat:
    try:
        return detect_format(content, name=name, content_type=content_type)
    except UnsupportedFormat as error:
        raise UnsupportedUpload(str(error)) from None
    except DocumentUnreadable as error:
        raise UploadRefused(str(error)) from None


async def _is_same(services: Services, ref: str, content: bytes) -> bool:
    """Whether what lies at `ref` is this content: a repeat, or an answer that was lost."""
    try:
        stored = await services.blobs.read(ref, max_bytes=len(content))
    except ValueError:
        return False
    if stored is None:
        raise StorageUnavailable("The document was there a moment ago and is not now.")
    return stored == content
