"""Blobs by `container/path`: written once, and read only after their size is known to fit."""

import io
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.storage.blob import BlobProperties, ContentSettings
from azure.storage.blob.aio import BlobClient

from shared.adapters.connections import Connections
from shared.adapters.guard import CALL_SECONDS, Answered
from shared.errors import StorageUnavailable
from shared.ports import BlobInfo, Pieces
from shared.refs import BlobRef, parse_folder, parse_ref

T = TypeVar("T")
_NOT_FOUND, _CONFLICT, _CHANGED = 404, 409, 412
_TRIES = 3
_LISTED = 100
_BYTES_PER_SECOND = 1024 * 1024  # the slowest transfer that still counts as an answer


class _Reader(io.RawIOBase):
    """Pieces as a file."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def _readable(content: bytes | Pieces) -> bytes | io.BufferedReader:
    return content if isinstance(content, bytes) else io.BufferedReader(_Reader(content))


class Blobs:
    """BlobStore over the storage account. A write makes a missing container; a read finds nothing in it."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def put_if_absent(self, ref: str, content: bytes | Pieces, content_type: str) -> bool:
        """As the port says. A repeat after this call's own lost answer says False."""
        parsed = parse_ref(ref)
        stored = await self._put(parsed, content, content_type)
        if stored is None:
            await self._make_container(parsed.container)
            stored = await self._put(parsed, content, content_type)
        if stored is None:
            raise StorageUnavailable("The blob storage has no such container, though it was just made.")
        return stored

    async def info(self, ref: str) -> BlobInfo | None:
        found = await self._properties(parse_ref(ref))
        if found is None:
            return None
        return BlobInfo(ref=ref, size=found.size, content_type=found.content_settings.content_type or None)

    async def read(self, ref: str, *, max_bytes: int) -> bytes | None:
        """As the port says. A blob that is replaced while it is read is read anew, never mixed."""
        parsed = parse_ref(ref)
        for _ in range(_TRIES):
            found = await self._properties(parsed)
            if found is None:
                return None
            if found.size > max_bytes:
                raise ValueError(f"The blob has {found.size} bytes; at most {max_bytes} are read.")
            if found.size == 0:
                return b""
            try:
                return await self._download(parsed, found.size, found.etag)
            except Answered as answer:
                if answer.status == _NOT_FOUND:
                    return None
        raise StorageUnavailable("A blob was replaced again and again while it was read.")

    async def delete_below(self, folder: str) -> None:
        """As the port says; what is added meanwhile may stay."""
        container, path = parse_folder(folder)
        while names := await self._names(container, path):
            for name in names:
                await self._delete(BlobRef(container, name))

    async def _names(self, container: str, path: str) -> list[str]:
        """The first page of names that begin with `path`."""

        async def first_page() -> list[str]:
            client = self._connections.blobs().get_container_client(container)
            pager = client.list_blob_names(name_starts_with=path, results_per_page=_LISTED).by_page()
            async for page in pager:
                return [name async for name in page]
            return []

        try:
            return await self._connections.blob_guard.call(first_page, expect={_NOT_FOUND})
        except Answered:
            return []

    async def _delete(self, ref: BlobRef) -> None:
        try:
            await self._call(
                ref, lambda blob: blob.delete_blob(delete_snapshots="include"), expect={_NOT_FOUND}
            )
        except Answered:
            return  # gone already

    async def _put(self, ref: BlobRef, content: bytes | Pieces, content_type: str) -> bool | None:
        """True when stored, False when there was one, None when its container is missing."""
        kind = ContentSettings(content_type=content_type)
        size = len(content) if isinstance(content, bytes) else content.size
        try:
            await self._call(
                ref,
                lambda blob: blob.upload_blob(
                    _readable(content), length=size, overwrite=False, content_settings=kind
                ),
                expect={_NOT_FOUND, _CONFLICT, _CHANGED},
                size=size,
            )
        except Answered as answer:
            return None if answer.status == _NOT_FOUND else False
        return True

    async def _properties(self, ref: BlobRef) -> BlobProperties | None:
        try:
            return await self._call(ref, lambda blob: blob.get_blob_properties(), expect={_NOT_FOUND})
        except Answered:
            return None

    async def _download(self, ref: BlobRef, size: int, etag: str) -> bytes:
        async def whole(blob: BlobClient) -> bytes:
            stream = await blob.download_blob(
                offset=0, length=size, etag=etag, match_condition=MatchConditions.IfNotModified
            )
            return await stream.readall()

        return await self._call(ref, whole, expect={_NOT_FOUND, _CHANGED}, size=size)

    async def _call(
        self,
        ref: BlobRef,
        work: Callable[[BlobClient], Awaitable[T]],
        *,
        expect: Collection[int],
        size: int = 0,
    ) -> T:
        blob = self._connections.blobs().get_blob_client(ref.container, ref.path)
        seconds = CALL_SECONDS + size / _BYTES_PER_SECOND
        return await self._connections.blob_guard.call(lambda: work(blob), expect=expect, seconds=seconds)

    async def _make_container(self, name: str) -> None:
        service = self._connections.blobs()
        try:
            await self._connections.blob_guard.call(
                lambda: service.create_container(name), expect={_CONFLICT}
            )
        except Answered:
            return  # somebody else made it
