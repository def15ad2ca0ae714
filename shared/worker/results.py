"""The result as a blob: stored once for each release, found again by the claim after a crash."""

import asyncio
import hashlib

from shared.errors import StorageUnavailable
from shared.jobs import Job, StoredResult, result_ref
from shared.services import Services
from shared.tasks.base import TaskResult

MIB = 1024 * 1024
RESULT_LIMIT = 64 * MIB
HASHED_AT_ONCE = MIB
"""A larger result is hashed in a thread: the event loop has others to serve meanwhile."""


async def stored_result(services: Services, job: Job) -> StoredResult | None:
    """The result that an earlier claim of this release stored before it died, if any."""
    ref = result_ref(job)
    info = await services.blobs.info(ref)
    if info is None:
        return None
    content = await services.blobs.read(ref, max_bytes=RESULT_LIMIT)
    if content is None:
        return None
    return await _described(ref, content, info.content_type or "application/octet-stream")


async def store_result(services: Services, job: Job, result: TaskResult) -> StoredResult:
    """Store the result unless this release has one already; the row records what is stored."""
    ref = result_ref(job)
    if await services.blobs.put_if_absent(ref, result.content, result.content_type):
        return await _described(ref, result.content, result.content_type)
    earlier = await stored_result(services, job)
    if earlier is None:
        raise StorageUnavailable("The result's blob was there a moment ago and is not now.")
    return earlier


async def _described(ref: str, content: bytes, content_type: str) -> StoredResult:
    sha = await asyncio.to_thread(_sha256, content) if len(content) > HASHED_AT_ONCE else _sha256(content)
    return StoredResult(ref=ref, content_type=content_type, sha256=sha, size=len(content))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
