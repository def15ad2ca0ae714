"""Parts for tests of the supervisor: small Python programs that say they are ready."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from devhost.parts import PartSpec

READY = "import time; print('{\"port\": 1}', flush=True)\n"


def program(folder: Path, code: str, name: str = "part") -> PartSpec:
    """A part that runs `code`."""
    return PartSpec(
        name=name,
        command=[sys.executable, "-I", "-c", code],
        read_ready=_ready,
        log=folder / f"{name}.log",
        cwd=folder,
    )


def _ready(line: str) -> Mapping[str, object] | None:
    try:
        document = json.loads(line)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
