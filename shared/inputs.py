"""Where a job's input lies, how it is stored, and how a worker gets it.

A small input lies inline, in a row beside the job; a larger one in a blob of the job's own; and a job may
name a document that is in storage already, if its source may read it.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shared.documents.errors import DocumentMissing, DocumentNotAllowed, DocumentTooLarge
from shared.errors import PermanentError
from shared.jobs import Job
from shared.ports import Pieces, Row, RowKind
from shared.services import Services
from shared.tasks.base import TaskInput

INLINE_LIMIT = 32 * 1024
_INLINE = "inline/"


class InputMissing(PermanentError):
    """The event named no input. Check the route's expression, then resubmit with an input."""

    code = "input_missing"


@dataclass(frozen=True, slots=True)
class PlacedInput:
    """An input with its reference: `row` to be written with the job, or `blob` to be written before it."""

    ref: str
    row: Row | None = None
    blob: bytes | Pieces | None = None
    content_type: str = "application/octet-stream"


def place_input(job_id: str, content: bytes | Pieces, content_type: str | None = None) -> PlacedInput:
    """Decide where `content` will lie. The reference holds its hash, so that writing it twice is harmless."""
    pieces = [content] if isinstance(content, bytes) else content
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    sha = digest.hexdigest()
    if size <= INLINE_LIMIT:
        row = Row(
            kind=RowKind.INPUT,
            key=sha,
            data={"size": size, "content_type": content_type},
            content=b"".join(pieces),
        )
        return PlacedInput(ref=f"{_INLINE}{job_id}/{sha}", row=row)
    return PlacedInput(
        ref=f"inputs/{job_id}/{sha}", blob=content, content_type=content_type or "application/octet-stream"
    )


async def store_input(services: Services, placed: PlacedInput) -> None:
    """Write the blob of a large input; a small one needs nothing before the job's batch."""
    if placed.blob is not None:
        await services.blobs.put_if_absent(placed.ref, placed.blob, placed.content_type)


async def store_new_inputs(services: Services, job_id: str, places: Sequence[PlacedInput]) -> None:
    """Write the blobs of large inputs before the job's row, unless there is the job: it has its own already.

    So an id that is sent again with other bodies fills no storage.
    """
    large = [placed for placed in places if placed.blob is not None]
    if large and await services.jobs.load(job_id) is None:
        for placed in large:
            await store_input(services, placed)


def is_own(job_id: str, ref: str) -> bool:
    """Whether `ref` has exactly the form that `place_input` gives to an input of this job."""
    return re.fullmatch(rf"(?:inline|inputs)/{re.escape(job_id)}/[0-9a-f]{{64}}", ref) is not None


async def exists(services: Services, job_id: str, ref: str) -> bool:
    """Whether something is stored at `ref`, which the job may use."""
    if ref.startswith(_INLINE):
        return await services.jobs.row(job_id, RowKind.INPUT, ref.rsplit("/", 1)[-1]) is not None
    return await services.blobs.info(ref) is not None


def may_use(services: Services, job: Job, ref: str) -> bool:
    """Whether the job may read `ref`: its own input, or a document that its source and user may read."""
    return is_own(job.job_id, ref) or services.access.may_read(job.source, job.user_id, ref)


async def read_input(services: Services, job: Job, limit: int) -> TaskInput:
    """The job's input, of at most `limit` bytes.

    Raises InputMissing, DocumentNotAllowed, DocumentMissing or DocumentTooLarge.
    """
    ref = job.input_ref
    if ref is None:
        raise InputMissing
    if not may_use(services, job, ref):
        raise DocumentNotAllowed
    if ref.startswith(_INLINE):
        return await _read_inline(services, job.job_id, ref)
    info = await services.blobs.info(ref)
    if info is None:
        raise DocumentMissing
    if info.size > limit:
        raise DocumentTooLarge
    try:
        content = await services.blobs.read(ref, max_bytes=limit)
    except ValueError:
        raise DocumentTooLarge from None
    if content is None:
        raise DocumentMissing
    name = ref.rsplit("/", 1)[-1]
    return TaskInput(
        ref=ref,
        name=name,
        size=len(content),
        content_type=info.content_type,
        content=content,
        own=is_own(job.job_id, ref),
    )


async def _read_inline(services: Services, job_id: str, ref: str) -> TaskInput:
    row = await services.jobs.row(job_id, RowKind.INPUT, ref.rsplit("/", 1)[-1])
    if row is None or row.content is None:
        raise DocumentMissing
    return TaskInput(
        ref=ref,
        name="inline",
        size=len(row.content),
        content_type=row.data.get("content_type"),
        content=row.content,
        own=True,
    )
