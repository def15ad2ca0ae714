"""The contract of BlobStore."""

import asyncio
import re
from collections.abc import Iterator

import pytest

from shared.ports import BlobInfo
from tests.contract.stores import Stores

_ODD = [
    "a b",
    "a%2Fb",
    "50%",
    "é中\U0001f6a2",
    "a+b&c=d",
    "q?x=1#f",
    "'\"<>|*:;,",
    "%2e%2e",
    "a..b",
    "_" * 254,
]


async def test_a_stored_blob_comes_back_byte_for_byte(stores: Stores) -> None:
    ref = f"{stores.container}/job_a/doc.pdf"
    content = bytes(range(256)) * 64
    assert await stores.blobs.put_if_absent(ref, content, "application/pdf")
    assert await stores.blobs.read(ref, max_bytes=len(content)) == content
    assert await stores.blobs.info(ref) == BlobInfo(
        ref=ref, size=len(content), content_type="application/pdf"
    )


async def test_a_blob_larger_than_one_request_comes_back_whole(stores: Stores) -> None:
    content = bytes(range(251)) * 20_000 * 2
    ref = f"{stores.container}/large"
    await stores.blobs.put_if_absent(ref, content, "application/octet-stream")
    assert await stores.blobs.read(ref, max_bytes=25 * 1024 * 1024) == content


class Repeated:
    """Pieces, as often as they are asked for."""

    def __init__(self, piece: bytes, count: int) -> None:
        self._piece, self._count = piece, count
        self.size = len(piece) * count

    def __iter__(self) -> Iterator[bytes]:
        return iter([self._piece] * self._count)


@pytest.mark.parametrize("count", [0, 1, 40_000])
async def test_a_blob_is_stored_from_its_pieces_and_not_again(stores: Stores, count: int) -> None:
    ref, piece = f"{stores.container}/pieces", bytes(range(251))
    assert await stores.blobs.put_if_absent(ref, Repeated(piece, count), "text/plain")
    assert not await stores.blobs.put_if_absent(ref, Repeated(b"x", count), "text/plain")
    assert await stores.blobs.read(ref, max_bytes=251 * count) == piece * count


async def test_an_empty_blob_is_empty_and_not_absent(stores: Stores) -> None:
    ref = f"{stores.container}/empty"
    assert await stores.blobs.put_if_absent(ref, b"", "text/plain")
    assert await stores.blobs.read(ref, max_bytes=10) == b""
    assert await stores.blobs.read(ref, max_bytes=0) == b""


async def test_a_stored_blob_is_never_overwritten(stores: Stores) -> None:
    ref = f"{stores.container}/a"
    assert await stores.blobs.put_if_absent(ref, b"first", "text/plain")
    assert not await stores.blobs.put_if_absent(ref, b"second", "text/html")
    assert await stores.blobs.read(ref, max_bytes=10) == b"first"


async def test_of_parallel_puts_exactly_one_wins(stores: Stores) -> None:
    ref = f"{stores.container}/race"
    puts = (stores.blobs.put_if_absent(ref, bytes([n]), "text/plain") for n in range(10))
    results = await asyncio.gather(*puts)
    assert sum(results) == 1
    assert await stores.blobs.read(ref, max_bytes=1) == bytes([results.index(True)])


async def test_a_missing_blob_is_none(stores: Stores) -> None:
    await stores.blobs.put_if_absent(f"{stores.container}/a", b"x", "text/plain")
    for missing in (f"{stores.container}/b", f"{stores.container}x/a"):
        assert await stores.blobs.info(missing) is None
        assert await stores.blobs.read(missing, max_bytes=10) is None


async def test_a_blob_over_the_limit_is_refused_and_its_size_told(stores: Stores) -> None:
    ref = f"{stores.container}/a"
    await stores.blobs.put_if_absent(ref, b"x" * 11, "text/plain")
    with pytest.raises(ValueError, match=re.escape("11 bytes; at most 10")):
        await stores.blobs.read(ref, max_bytes=10)
    assert await stores.blobs.read(ref, max_bytes=11) == b"x" * 11


@pytest.mark.parametrize("name", _ODD)
async def test_odd_names_are_kept_apart(stores: Stores, name: str) -> None:
    ref = f"{stores.container}/docs/{name}"
    assert await stores.blobs.put_if_absent(ref, name.encode(), "text/plain")
    assert await stores.blobs.read(ref, max_bytes=2000) == name.encode()
    for other in _ODD:
        if other != name:
            assert await stores.blobs.info(f"{stores.container}/docs/{other}") is None


@pytest.mark.parametrize(
    "path", ["../a", "a/../b", "a//b", "", "a\\b", "a\nb", "a/", "/a", "./a", "a.", "\ud800"]
)
async def test_a_path_that_could_be_read_as_another_is_refused(stores: Stores, path: str) -> None:
    ref = f"{stores.container}/{path}"
    with pytest.raises(ValueError, match="path"):
        await stores.blobs.put_if_absent(ref, b"x", "text/plain")
    with pytest.raises(ValueError, match="path"):
        await stores.blobs.read(ref, max_bytes=10)
    with pytest.raises(ValueError, match="path"):
        await stores.blobs.info(ref)


async def test_all_blobs_below_a_folder_are_deleted_and_no_other(stores: Stores) -> None:
    below = [f"{stores.container}/job_a/{number:03d}" for number in range(130)]
    others = [
        f"{stores.container}/job_ab/1",
        f"{stores.container}/job_b/job_a/1",
        f"{stores.container}/job_a",
    ]
    for ref in [*below[:3], *others]:
        await stores.blobs.put_if_absent(ref, b"x", "text/plain")
    await asyncio.gather(*(stores.blobs.put_if_absent(ref, b"x", "text/plain") for ref in below[3:]))
    await stores.blobs.delete_below(f"{stores.container}/job_a/")
    assert [ref for ref in below if await stores.blobs.info(ref)] == []
    assert [ref for ref in others if await stores.blobs.info(ref)] == others


async def test_deleting_below_a_folder_that_is_empty_or_not_there_is_quiet(stores: Stores) -> None:
    for folder in (f"{stores.container}/nothing/", f"{stores.container}x/a/"):
        await stores.blobs.delete_below(folder)


@pytest.mark.parametrize("folder", ["", "/", "things/", "things", "things/a", "things//", "things/../a/"])
async def test_what_names_no_folder_in_a_container_is_never_deleted(stores: Stores, folder: str) -> None:
    with pytest.raises(ValueError, match=r"folder|path|reference|container"):
        await stores.blobs.delete_below(folder)
