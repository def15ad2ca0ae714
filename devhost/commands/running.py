"""Where the stack of a state folder is: `up` notes it while it runs, other commands read it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devhost.credentials import write_private
from devhost.system import SYSTEM, LockTakenError

_NOTE = "running.json"


class NotRunningError(RuntimeError):
    """No stack runs on the state folder; the text says what to do."""


@contextmanager
def noted(state: Path, url: str) -> Iterator[None]:
    """Note the address in the state folder; its owner alone can read it, and it is gone at the end."""
    write_private(state / _NOTE, {"url": url})
    try:
        yield
    finally:
        (state / _NOTE).unlink(missing_ok=True)


def url_of(state: Path) -> str:
    """The address of the stack that runs on `state`. Raises NotRunningError."""
    try:
        url = json.loads((state / _NOTE).read_text(encoding="utf-8"))["url"]
    except (OSError, ValueError, LookupError, TypeError):
        url = None
    if not isinstance(url, str) or not _is_in_use(state):
        raise NotRunningError(
            f"No local stack runs on {state}. Start one with `python3 dev.py up` and leave it running,"
            " or name another: --state DIR (as for `up`), or --url URL."
        )
    return url


def _is_in_use(state: Path) -> bool:
    """Whether a stack holds the folder's lock: the note of one that was killed stays behind."""
    try:
        with (state / "lock").open("r+", encoding="utf-8") as lock:
            SYSTEM.lock(lock, wait=False)
    except LockTakenError:
        return True
    except OSError:
        return False
    return False
