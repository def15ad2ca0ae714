"""Blob references: `container/path`, checked before any of it reaches a storage address.

The rules are Azure's for names (a container of 3 to 63 lower-case letters, digits and single hyphens; a path
of at most 1,024 characters and 254 segments, none ending in a dot), made stricter where a name could be read
as another one: no `.` or `..` segment, no empty segment, no backslash, no control character.
https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata
"""

import re
import unicodedata
from dataclasses import dataclass

_CONTAINER = re.compile(r"[a-z0-9](?:-?[a-z0-9])*")
_MIN_CONTAINER, _MAX_CONTAINER = 3, 63
_MAX_PATH = 1024
_MAX_SEGMENTS = 254
_REFUSED_CATEGORIES = {"Cc", "Cs", "Cn", "Zl", "Zp"}


@dataclass(frozen=True, slots=True)
class BlobRef:
    container: str
    path: str

    def __str__(self) -> str:
        return f"{self.container}/{self.path}"


def parse_ref(ref: str) -> BlobRef:
    """The parts of `ref`. Raises ValueError with the rule that it breaks; the text never quotes it."""
    container, slash, path = ref.partition("/")
    if not slash:
        raise ValueError("A reference has the form container/path.")
    if not _MIN_CONTAINER <= len(container) <= _MAX_CONTAINER or not _CONTAINER.fullmatch(container):
        raise ValueError("The container is not 3 to 63 lower-case letters, digits and single hyphens.")
    _check_path(path)
    return BlobRef(container, path)


def parse_folder(folder: str) -> tuple[str, str]:
    """Container and path of a `container/path/`. Raises ValueError when it names no folder in a container."""
    if not folder.endswith("/"):
        raise ValueError("A folder ends with a slash.")
    parsed = parse_ref(folder.removesuffix("/"))
    return parsed.container, parsed.path + "/"


def _check_path(path: str) -> None:
    if len(path.encode("utf-16-le", "surrogatepass")) // 2 > _MAX_PATH:
        raise ValueError(f"The path is longer than {_MAX_PATH} characters.")
    if "\\" in path or any(unicodedata.category(character) in _REFUSED_CATEGORIES for character in path):
        raise ValueError("The path holds a backslash, a control character or one that is not Unicode text.")
    segments = path.split("/")
    if len(segments) > _MAX_SEGMENTS:
        raise ValueError(f"The path has more than {_MAX_SEGMENTS} segments.")
    if not all(segments):
        raise ValueError("The path has an empty segment.")
    if any(segment.endswith(".") for segment in segments):
        raise ValueError("The path has a segment that is `.` or `..` or ends with a dot.")
