"""What happened, one line of JSON a call, so that a restarted outside knows it again."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MOST_BYTES = 1024 * 1024 * 1024

Entry = Mapping[str, Any]


class JournalFullError(Exception):
    """The file has 1 GiB."""


class Journal:
    """Appends to a file. An entry is the system's before `append` returns, and so outlives SIGKILL."""

    def __init__(self, path: Path | None) -> None:
        """Without a path nothing is kept."""
        self._path = path
        self._file = None if path is None else path.open("ab", buffering=0)

    def lines(self) -> Iterator[bytes]:
        """What was kept, in JSON; a last line that was not written to its end is left out."""
        if self._path is None:
            return
        with self._path.open("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    yield line

    def mend(self) -> None:
        """Take away a last line that was not written to its end."""
        if self._path is None or self._file is None:
            return
        content_end = 0
        with self._path.open("rb") as lines:
            for line in lines:
                content_end += len(line) if line.endswith(b"\n") else 0
        self._file.truncate(content_end)

    def append(self, entry: Entry) -> None:
        """Keep it. Raises JournalFullError and OSError."""
        if self._file is None:
            return
        if self._file.tell() >= MOST_BYTES:
            raise JournalFullError
        self._file.write(json.dumps(entry).encode() + b"\n")

    def clear(self) -> None:
        """Forget all."""
        if self._file is not None:
            self._file.truncate(0)

    def close(self) -> None:
        """End."""
        if self._file is not None:
            self._file.close()
