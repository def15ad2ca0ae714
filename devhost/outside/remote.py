"""A running outside, as tests and the demo ask it and tell it. Methods block."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from devhost.outside.steps import JsonStep

_ANSWER_SECONDS = 60.0
_LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Counted:
    """How often effects of one kind really happened. `repeats` were answered from an idempotency key."""

    count: int
    repeats: int
    by_key: Mapping[str, int]
    by_reference: Mapping[str, int]
    by_request: Mapping[str, int]


class OutsideError(RuntimeError):
    """The outside refused what a test asked of it; the text says why."""


class Remote:
    """The outside at an address."""

    def __init__(self, url: str) -> None:
        """`url` is `http://HOST:PORT`."""
        self._url = url
        self._opener = build_opener(ProxyHandler({}))

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end. Twilio's API begins here."""
        return self._url

    @property
    def openai_url(self) -> str:
        """The `base_url` for OpenAI's SDK; any API key will do."""
        return f"{self.url}/v1"

    @property
    def effects_url(self) -> str:
        """Before `/keyed`, `/findable` and `/blind`."""
        return f"{self.url}/effects"

    @property
    def callbacks_url(self) -> str:
        """The receiver of callbacks; a name may follow."""
        return f"{self.url}/callbacks"

    def reset(self) -> None:
        """Forget all that happened, all scripts and settings; calls that are held go on without effect."""
        self._ask("DELETE", "")

    def script(self, method: str, path: str, *steps: JsonStep, match: str = "") -> None:
        """What becomes of the next calls (`devhost.outside.steps`), in place of an earlier script for them.

        `path` may have `*` for a segment; with `match` only calls with this text in body, query or key.
        """
        document = {"method": method, "path": path, "steps": list(steps), "match": match}
        self._ask("PUT", "/script", document)

    def configure(self, **settings: object) -> None:
        """Change settings (`devhost.outside.settings`)."""
        self._ask("PUT", "/settings", settings)

    def advance(self, seconds: float) -> None:
        """Move the outside's time on: key windows end, lags are over."""
        self._ask("POST", "/clock", {"advance": seconds})

    def effects(self) -> dict[str, Counted]:
        """How often each kind of effect really happened."""
        return {kind: Counted(**count) for kind, count in self._ask("GET", "/effects").items()}

    def calls(self) -> dict[str, int]:
        """How many calls each operation got, those that a script let fail included."""
        calls: dict[str, int] = self._ask("GET", "/calls")
        return calls

    def callbacks(self) -> list[dict[str, Any]]:
        """What the receiver of callbacks got: path, headers, body, at."""
        received: list[dict[str, Any]] = self._ask("GET", "/callbacks")
        return received

    def posts(self) -> list[dict[str, Any]]:
        """Each try to send a callback: url, id, status (0: no answer)."""
        told: list[dict[str, Any]] = self._ask("GET", "/posts")
        return told

    def finish_video(self, video_id: str, *, fails: str = "", callback_url: str = "") -> None:
        """Let a video be completed, or fail with a code, now; and tell the address, if one is given."""
        self._ask("POST", f"/videos/{video_id}", {"fails": fails, "callback_url": callback_url})

    def scripts_left(self) -> int:
        """How many calls the scripts still wait for."""
        return sum(script["left"] for script in self._ask("GET", "")["scripts"])

    def wait_held(self, name: str, timeout: float = 90.0) -> None:
        """Wait until a call is held by this name. Raises OutsideError."""
        until = time.monotonic() + timeout
        while name not in self._ask("GET", "")["held"]:
            if time.monotonic() > until:
                raise OutsideError(f"no call was held by the name {name!r} within {timeout:g} s")
            time.sleep(_LOOK_SECONDS)

    def release(self, name: str) -> int:
        """Let the calls go on that are held by this name; how many."""
        return int(self._ask("POST", "/release", {"hold": name})["released"])

    def _ask(self, method: str, path: str, document: object = None) -> Any:
        body = None if document is None else json.dumps(document).encode()
        request = Request(  # noqa: S310  the address is our own
            f"{self.url}/control{path}", body, {"content-type": "application/json"}, method=method
        )
        try:
            with self._opener.open(request, timeout=_ANSWER_SECONDS) as answer:
                content = answer.read()
        except HTTPError as refused:
            with refused:
                raise OutsideError(json.loads(refused.read())["detail"]) from None
        return json.loads(content) if content else None
