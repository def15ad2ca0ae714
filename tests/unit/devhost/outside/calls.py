"""Calls to the outside's state, without HTTP, and without a clock that goes by itself."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from devhost.outside.journal import Journal
from devhost.outside.messages import Answer, Call
from devhost.outside.world import World

BEARER = {"authorization": "Bearer ***"}
BASIC = {"authorization": "Basic ***"}
START = 1_900_000_000.0
ACCOUNT = "/2010-04-01/Accounts/ACinvented"
_FORM = "application/x-www-form-urlencoded"


@dataclass
class Caller:
    """A world and what is asked of it; `moment` is its time."""

    path: Path | None = None
    moment: float = START
    world: World = field(init=False)

    def __post_init__(self) -> None:
        """Take up what the file kept."""
        self.journal = Journal(self.path)
        self.world = World(self.journal, lambda: self.moment)

    def restart(self) -> None:
        """Another life over the same file."""
        self.journal.close()
        self.__post_init__()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] = BEARER,
        key: str | None = None,
        reply: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        """One call; a `body` that is not bytes goes as JSON."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        keyed = {} if key is None else {"idempotency-key": key}
        usual = {"content-type": "application/json"}
        call = Call(
            method, path, self.world.now, query or {}, {**usual, **headers, **keyed}, content, reply or {}
        )
        return self.world.handle(call)

    def post(self, path: str, body: object, **more: Any) -> dict[str, Any]:
        """The answer's JSON; it must be a success."""
        return document(self.call("POST", path, body, **more))

    def get(self, path: str, **more: Any) -> dict[str, Any]:
        """The answer's JSON; it must be a success."""
        return document(self.call("GET", path, **more))

    def send_message(self, **fields: str) -> Answer:
        """A message by Twilio's API."""
        headers = {**BASIC, "content-type": _FORM}
        return self.call("POST", f"{ACCOUNT}/Messages.json", urlencode(fields).encode(), headers=headers)

    def count(self, kind: str) -> int:
        """How often an effect of this kind happened."""
        return int(self.world.effects.snapshot()[kind]["count"])


def document(answer: Answer) -> dict[str, Any]:
    """An answer's JSON; it must be a success."""
    assert 200 <= answer.status < 300, answer
    value: dict[str, Any] = json.loads(answer.body)
    return value


def refusal(answer: Answer, status: int) -> dict[str, Any]:
    """A refusal's JSON."""
    assert answer.status == status, answer
    value: dict[str, Any] = json.loads(answer.body)
    return value


def multipart(fields: Mapping[str, str]) -> tuple[bytes, dict[str, str]]:
    """A form as browsers and SDKs send it, and its headers."""
    boundary = f"boundary{next(_numbers)}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    body = "".join([*parts, f"--{boundary}--\r\n"]).encode()
    return body, {**BEARER, "content-type": f"multipart/form-data; boundary={boundary}"}


_numbers = itertools.count()
