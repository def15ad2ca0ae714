"""Small containers, made by hand: as much of MP4 and WebM as a look at them needs."""

import struct

BRANDS = (b"isom", b"iso2", b"mp41")


def box(kind: bytes, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return struct.pack(">I", 8 + len(content)) + kind + content


def movie_header(seconds: float | None, *, version: int = 0, scale: int = 600) -> bytes:
    """`seconds` None: a duration that is not known (all bits set)."""
    wide = version == 1
    unknown = 2 ** (64 if wide else 32) - 1
    duration = unknown if seconds is None else round(seconds * scale)
    form = ">IQQIQ" if wide else ">IIIII"
    return box(b"mvhd", struct.pack(form, version << 24, 0, 0, scale, duration), bytes(80))


def track(handler: bytes = b"vide") -> bytes:
    return box(b"trak", box(b"tkhd", bytes(84)), box(b"mdia", box(b"hdlr", bytes(8), handler, bytes(13))))


def mp4(
    seconds: float | None = 4.0,
    *,
    version: int = 0,
    scale: int = 600,
    brands: tuple[bytes, ...] = BRANDS,
    handler: bytes = b"vide",
    media_first: bool = False,
) -> bytes:
    kind = box(b"ftyp", brands[0], bytes(4), *brands[1:])
    movie = box(b"moov", movie_header(seconds, version=version, scale=scale), track(handler))
    media = box(b"mdat", b"\x00\x01\x02\x03" * 64)
    return kind + (media + movie if media_first else movie + media)


def fragmented_mp4(seconds: float | None) -> bytes:
    """As streams are written: no duration in the movie's header; perhaps one in the fragments'."""
    told = b"" if seconds is None else box(b"mehd", struct.pack(">II", 0, round(seconds * 600)))
    movie = box(b"moov", movie_header(0), track(), box(b"mvex", told, box(b"trex", bytes(24))))
    return (
        box(b"ftyp", b"iso5", bytes(4), b"dash") + movie + box(b"moof", bytes(16)) + box(b"mdat", bytes(64))
    )


def element(kind: int, content: bytes, *, unknown_size: bool = False) -> bytes:
    name = kind.to_bytes((kind.bit_length() + 7) // 8, "big")
    size = b"\x01" + b"\xff" * 7 if unknown_size else (len(content) | 1 << 56).to_bytes(8, "big")
    return name + size + content


def webm(
    seconds: float | None = 4.0,
    *,
    doc_type: bytes = b"webm",
    track_type: int = 1,
    wide: bool = True,
    live: bool = False,
) -> bytes:
    """`live`: segment and cluster are of unknown size, as a stream is written."""
    header = element(0x1A45DFA3, element(0x4286, b"\x01") + element(0x4282, doc_type))
    duration = b"" if seconds is None else struct.pack(">d" if wide else ">f", seconds * 1000)
    info = element(0x2AD7B1, (1_000_000).to_bytes(3, "big")) + (
        element(0x4489, duration) if duration else b""
    )
    tracks = element(0xAE, element(0xD7, b"\x01") + element(0x83, bytes([track_type])))
    cluster = element(0x1F43B675, element(0xE7, b"\x00") + element(0xA3, bytes(64)), unknown_size=live)
    content = element(0x1549A966, info) + element(0x1654AE6B, tracks) + cluster
    return header + element(0x18538067, content, unknown_size=live)
