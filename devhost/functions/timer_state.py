"""When a timer last ran and is due next, kept in a file so that a missed run is noticed after a restart."""

import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ScheduleStatus:
    """The schedule monitor's record; times are UTC."""

    last: datetime | None
    next: datetime
    last_updated: datetime

    def as_dict(self) -> dict[str, str]:
        """The form a function sees; a timer that never ran shows .NET's smallest date."""
        return {
            "Last": self.last.isoformat() if self.last else "0001-01-01T00:00:00+00:00",
            "Next": self.next.isoformat(),
            "LastUpdated": self.last_updated.isoformat(),
        }


class TimerState:
    """One JSON file a timer in a folder; without a folder nothing is remembered."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def load(self, function: str) -> ScheduleStatus | None:
        """The stored status; None when there is none or it cannot be read."""
        if self._folder is None:
            return None
        try:
            stored = json.loads((self._folder / f"{function}.json").read_text(encoding="utf-8"))
            return ScheduleStatus(
                last=datetime.fromisoformat(stored["last"]) if stored["last"] else None,
                next=datetime.fromisoformat(stored["next"]),
                last_updated=datetime.fromisoformat(stored["last_updated"]),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, function: str, status: ScheduleStatus) -> None:
        """Replace the file in one step, so that a kill leaves the old status or the new one."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(
            {
                "last": status.last.isoformat() if status.last else None,
                "next": status.next.isoformat(),
                "last_updated": status.last_updated.isoformat(),
            }
        )
        unfinished = self._folder / f".{function}.{os.getpid()}"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self._folder / f"{function}.json")
