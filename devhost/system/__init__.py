"""The operating system this runs on: the one place that knows which it is. Standard library only."""

import sys

from devhost.system.base import LockTakenError, NotOnThisSystemError, System

if sys.platform == "win32":
    from devhost.system.windows import Windows as _ThisSystem
else:
    from devhost.system.posix import Posix as _ThisSystem

__all__ = ["SYSTEM", "LockTakenError", "NotOnThisSystemError", "System"]

SYSTEM: System = _ThisSystem()
