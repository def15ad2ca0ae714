"""The blob store in memory."""

from shared.ports import BlobInfo, Pieces
from shared.refs import BlobRef, parse_folder, parse_ref
from tests.support.fakes.faults import Faults


class FakeBlobStore(Faults):
    def __init__(self) -> None:
        super().__init__()
        self._blobs: dict[BlobRef, tuple[bytes, str]] = {}

    async def put_if_absent(self, ref: str, content: bytes | Pieces, content_type: str) -> bool:
        parsed = parse_ref(ref)
        async with self._call("put_if_absent"):
            new = parsed not in self._blobs
            if new:
                self._blobs[parsed] = (
                    content if isinstance(content, bytes) else b"".join(content),
                    content_type,
                )
        return new

    async def info(self, ref: str) -> BlobInfo | None:
        parsed = parse_ref(ref)
        async with self._call("info"):
            stored = self._blobs.get(parsed)
        return None if stored is None else BlobInfo(ref=ref, size=len(stored[0]), content_type=stored[1])

    async def read(self, ref: str, *, max_bytes: int) -> bytes | None:
        parsed = parse_ref(ref)
        async with self._call("read"):
            stored = self._blobs.get(parsed)
        if stored is None:
            return None
        if len(stored[0]) > max_bytes:
            raise ValueError(f"The blob has {len(stored[0])} bytes; at most {max_bytes} are read.")
        return stored[0]

    async def delete_below(self, folder: str) -> None:
        container, path = parse_folder(folder)
        async with self._call("delete_below"):
            below = [ref for ref in self._blobs if ref.container == container and ref.path.startswith(path)]
            for ref in below:
                del self._blobs[ref]

    def put_now(self, ref: str, content: bytes, content_type: str = "application/octet-stream") -> None:
        """Store a blob at once, replacing what was there: a document somebody put into storage."""
        self._blobs[parse_ref(ref)] = (content, content_type)

    def refs(self) -> list[str]:
        """Every stored blob, for assertions."""
        return sorted(str(ref) for ref in self._blobs)

    def content(self, ref: str) -> bytes:
        """A stored blob's content, for assertions; KeyError when there is none."""
        return self._blobs[parse_ref(ref)][0]
