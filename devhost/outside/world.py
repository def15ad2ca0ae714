"""All of the outside's state, and what each call does to it.

State changes only here, from calls in their order, so that the journal can make them again.
"""

import base64
import hashlib
import itertools
import json
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any

from devhost.outside.callbacks import Callbacks
from devhost.outside.effects import Effects
from devhost.outside.generic_effects import GenericEffects
from devhost.outside.journal import Entry, Journal, JournalFullError
from devhost.outside.messages import Answer, Call, Post, Refused
from devhost.outside.openai_models import Models
from devhost.outside.routes import Routes, problem
from devhost.outside.settings import Settings
from devhost.outside.twilio_messages import Messages
from devhost.outside.videos import Videos


class World:
    """The services and what happened in them."""

    def __init__(self, journal: Journal, clock: Callable[[], float]) -> None:
        """Take up what the journal kept."""
        self._journal = journal
        self._clock = clock
        self._salt = secrets.token_hex(8)
        self._settings = Settings()
        self._ahead = 0.0
        self._begin(0)
        journal.mend()
        number = 0
        for number, line in enumerate(journal.lines(), 1):
            try:
                self._again(json.loads(line))
            except (ValueError, TypeError, LookupError, Refused) as error:
                raise ValueError(f"line {number} is no line of a state: {error}") from error
        if number == 0:
            self._head(0)

    @property
    def settings(self) -> Settings:
        """How the services behave now."""
        return self._settings

    @property
    def now(self) -> float:
        """The outside's time, in seconds since 1970."""
        return self._clock() + self._ahead

    @property
    def calls(self) -> dict[str, int]:
        """How many calls each operation got, faults included."""
        return dict(self._calls)

    def arrived(self, call: Call) -> None:
        """Count a call."""
        self._calls[self.routes.name(call)] += 1

    def handle(self, call: Call) -> Answer:
        """Let a call have its effect; the right answer to it."""
        try:
            self._journal.append({"call": _written(call)})
        except (OSError, JournalFullError):
            return problem(507, "full", "What happens cannot be kept any more in the file of --state.")
        return self.routes.handle(call)

    def configure(self, values: dict[str, Any]) -> None:
        """Change settings. Raises SettingError."""
        changed = self._settings.changed(values)
        self._journal.append({"settings": values})
        self._settings = changed

    def advance(self, seconds: float) -> None:
        """Move the outside's time on."""
        self._journal.append({"advance": seconds})
        self._ahead += seconds

    def finish(
        self, video_id: str, *, fails: str, callback_url: str
    ) -> tuple[dict[str, Any], tuple[Post, ...]]:
        """Let a video end now; its document, and who is told. Raises Refused."""
        at = self.now
        video = self.videos.finish(video_id, at, fails=fails)
        self._journal.append({"finish": {"id": video_id, "at": at, "fails": fails}})
        return video.document(), self.videos.posts(video, callback_url)

    def reset(self) -> None:
        """Nothing happened. Ids that were given are not given again."""
        used = next(self._sequence)
        self._journal.clear()
        self._begin(used)
        self._head(used)

    def _begin(self, used: int) -> None:
        self._sequence = itertools.count(used)
        self._settings = Settings()
        self._ahead = 0.0
        self._calls: Counter[str] = Counter()
        self.effects = Effects()
        self.videos = Videos(self.effects, lambda: self._settings, self._new_id)
        self.callbacks = Callbacks(self.effects, lambda: self._settings)
        messages = Messages(self.effects, lambda: self._settings, self._new_id)
        generic = GenericEffects(self.effects, lambda: self._settings, self._new_id)
        parts = (Models(self.effects), self.videos, messages, generic, self.callbacks)
        self.routes = Routes(route for part in parts for route in part.routes())

    def _head(self, used: int) -> None:
        self._journal.append({"salt": self._salt, "used": used})

    def _again(self, entry: Entry) -> None:
        match entry:
            case {"salt": str(salt), "used": int(used)}:
                self._salt = salt
                self._begin(used)
            case {"call": dict(written)}:
                call = _read(written)
                self.arrived(call)
                self.routes.handle(call)
            case {"settings": dict(values)}:
                self._settings = self._settings.changed(values)
            case {"advance": float() | int() as seconds}:
                self._ahead += seconds
            case {"finish": {"id": str(video_id), "at": float(at), "fails": str(fails)}}:
                self.videos.finish(video_id, at, fails=fails)
            case _:
                raise ValueError(f"it has {list(entry)}")

    def _new_id(self) -> str:
        return hashlib.sha256(f"{self._salt}:{next(self._sequence)}".encode()).hexdigest()[:32]


def _written(call: Call) -> dict[str, Any]:
    return {
        "method": call.method,
        "path": call.path,
        "at": call.at,
        "query": dict(call.query),
        "headers": dict(call.headers),
        "body": base64.b64encode(call.body).decode(),
        "reply": dict(call.reply),
    }


def _read(written: dict[str, Any]) -> Call:
    return Call(**{**written, "body": base64.b64decode(written["body"])})
