"""Sizes in bytes such as `20MiB`."""

import re

EXPECTED = 'a size such as "512KiB" or "20MiB"'
KIB = 1024
MIB = 1024 * KIB

_SIZE = re.compile(r"(\d{1,9})(B|KiB|MiB|GiB)", re.ASCII)
_UNITS = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": 1024 * MIB}


def parse_size(text: str) -> int:
    """Bytes of `1024B`, `512KiB`, `20MiB`, `1GiB`. Raises ValueError."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"expected {EXPECTED}")
    return int(found[1]) * _UNITS[found[2]]


def format_size(size: int) -> str:
    """The largest unit that divides `size`."""
    for unit in ("GiB", "MiB", "KiB"):
        if size and size % _UNITS[unit] == 0:
            return f"{size // _UNITS[unit]}{unit}"
    return f"{size}B"
