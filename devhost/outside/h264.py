"""A grey H.264 picture that stands still, as the smallest stream a decoder accepts (ITU-T H.264).

Every macroblock of the first frame is predicted and has no residue (one byte each); every further frame
skips all of them.
"""

from dataclasses import dataclass

PROFILE, COMPATIBILITY, LEVEL = 66, 0xC0, 40
"""Constrained baseline, up to 8,192 macroblocks a frame."""

_MACROBLOCK = 16
_FRAME_NUMBERS = 16
_INTRA_16X16_DC = 3
_ALL_I, _ALL_P = 7, 5


class _Bits:
    def __init__(self) -> None:
        self._bits: list[str] = []

    def fixed(self, value: int, width: int) -> "_Bits":
        self._bits.append(f"{value:0{width}b}")
        return self

    def golomb(self, *values: int) -> "_Bits":
        """Exp-Golomb codes, ue(v); zero is the same in se(v)."""
        for value in values:
            code = f"{value + 1:b}"
            self._bits.append("0" * (len(code) - 1) + code)
        return self

    def payload(self) -> bytes:
        bits = "".join(self._bits) + "1"
        bits += "0" * (-len(bits) % 8)
        return int(bits, 2).to_bytes(len(bits) // 8, "big")


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream's parameter sets and frames, each a NAL unit without a start code."""

    sequence: bytes
    picture: bytes
    frames: tuple[bytes, ...]


def still(width: int, height: int, frames: int) -> Stream:
    """A stream of so many frames; width and height are multiples of 16."""
    across, down = width // _MACROBLOCK, height // _MACROBLOCK
    key_frame = _unit(0x65, _key_frame(across * down))
    rest = (_unit(0x41, _skipped(across * down, number % _FRAME_NUMBERS)) for number in range(1, frames))
    return Stream(_unit(0x67, _sequence(across, down)), _unit(0x68, _picture()), (key_frame, *rest))


def _sequence(across: int, down: int) -> bytes:
    bits = _Bits().fixed(PROFILE, 8).fixed(COMPATIBILITY, 8).fixed(LEVEL, 8)
    bits.golomb(0, 0, 2, 1)  # set 0, 4 bits of frame number, order as decoded, one reference frame
    bits.fixed(0, 1).golomb(across - 1, down - 1)
    return bits.fixed(
        0b1100, 4
    ).payload()  # frames only, 8x8 inference, no cropping, no usability information


def _picture() -> bytes:
    bits = _Bits().golomb(0, 0).fixed(0, 2).golomb(0, 0, 0)  # CAVLC, one slice group, one reference
    bits.fixed(0, 3).golomb(0, 0, 0)  # no weights, quantisers as usual
    return bits.fixed(0b100, 3).payload()  # slices say how they are deblocked


def _key_frame(macroblocks: int) -> bytes:
    bits = _Bits().golomb(0, _ALL_I, 0).fixed(0, 4).golomb(0).fixed(0, 2).golomb(0, 1)
    for _ in range(macroblocks):
        bits.golomb(_INTRA_16X16_DC, 0, 0).fixed(1, 1)  # no residue
    return bits.payload()


def _skipped(macroblocks: int, number: int) -> bytes:
    bits = _Bits().golomb(0, _ALL_P, 0).fixed(number, 4).fixed(0, 3).golomb(0, 1)
    return bits.golomb(macroblocks).payload()


def _unit(header: int, payload: bytes) -> bytes:
    """With a byte put in wherever three bytes would look like a start code (7.4.1)."""
    out, zeros = bytearray([header]), 0
    for byte in payload:
        if zeros == 2 and byte <= 3:
            out.append(3)
            zeros = 0
        out.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(out)
