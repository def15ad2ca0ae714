"""The result as a blob: stored once for each release, found again by the claim after a crash."""

import hashlib

from shared.errors import StorageUnavailable
from shared.jobs import Job, StoredResult, result_ref
from shared.services import Services
from shared.tasks.base import TaskResult

RESULT_LIMIT = 64 * 1024 * 1024


async def stored_result(services: Services, job: Job) -> StoredResult | None:
    """The result that an earlier claim of this release stored before it died, if any."""
    ref = result_ref(job)
    info = await services.blobs.info(ref)
    if info is None:
        return None
    content = await services.blobs.read(ref, max_bytes=RESULT_LIMIT)
    if content is None:
        return None
    return _described(ref, content, info.content_type or "application/octet-stream")


async def store_result(services: Services, job: Job, result: TaskResult) -> StoredResult:
    """Store the result unless this release has one already; the row records what is stored."""
    ref = result_ref(job)
    if await services.blobs.put_if_absent(ref, result.content, result.content_type):
        return _described(ref, result.content, result.content_type)
    earlier = await stored_result(services, job)
    if earlier is None:
        raise StorageUnavailable("The result's blob was there a moment ago and is not now.")
    return earlier


def _described(ref: str, content: bytes, content_type: str) -> StoredResult:
    sha = hashlib.sha256(content).hexdigest()
    return StoredResult(ref=ref, content_type=content_type, sha256=sha, size=len(content))
