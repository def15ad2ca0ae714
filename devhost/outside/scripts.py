"""Which step of which script a call gets."""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from devhost.outside.messages import Call
from devhost.outside.steps import OK, Step, StepError, parse

MOST_SCRIPTS = 1_000
MOST_STEPS = 10_000
_METHODS = ("GET", "POST", "PUT", "DELETE")


def matches(pattern: str, path: str) -> tuple[str, ...] | None:
    """What each `*` of the pattern stands for; a `*` is one segment of the path."""
    wanted, given = pattern.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    pairs = list(zip(wanted, given, strict=True))
    if not all(have if want == "*" else want == have for want, have in pairs):
        return None
    return tuple(have for want, have in pairs if want == "*")


@dataclass(slots=True)
class _Script:
    method: str
    path: str
    text: str
    steps: deque[Step]

    def concerns(self, call: Call) -> bool:
        if self.method != call.method or matches(self.path, call.path) is None:
            return False
        return not self.text or self.text in _searchable(call)

    def take(self) -> Step:
        step = self.steps.popleft()
        if step.times > 1:
            self.steps.appendleft(replace(step, times=step.times - 1))
        return step


class Scripts:
    """Scripts by method, path and text; calls use up their steps one by one, in the order of arrival."""

    def __init__(self) -> None:
        self._scripts: dict[tuple[str, str, str], _Script] = {}

    def put(self, document: Mapping[str, object]) -> None:
        """Take a script in place of an earlier one for the same calls. Raises StepError.

        `{"method", "path", "steps": [...], "match"?}`: `path` may have `*` for a segment; with `match` it
        concerns only calls that have this text in their body, query or idempotency key.
        """
        unknown = set(document) - {"method", "path", "steps", "match"}
        if unknown:
            raise StepError(f"a script has no {', '.join(sorted(unknown))}")
        method, path, text = document.get("method"), document.get("path"), document.get("match", "")
        steps = document.get("steps")
        if method not in _METHODS:
            raise StepError(f"method is one of {', '.join(_METHODS)}")
        if not isinstance(path, str) or not path.startswith("/"):
            raise StepError("path is a text that starts with /")
        if not isinstance(text, str):
            raise StepError("match is a text")
        if not isinstance(steps, list) or len(steps) > MOST_STEPS:
            raise StepError(f"steps is a list of at most {MOST_STEPS}")
        script = _Script(str(method), path, text, deque(map(parse, steps)))
        self._scripts.pop((script.method, path, text), None)
        if len(self._scripts) >= MOST_SCRIPTS:
            raise StepError(f"there are {MOST_SCRIPTS} scripts already")
        if script.steps:
            self._scripts[script.method, path, text] = script

    def step(self, call: Call) -> Step:
        """The step for this call: of the first script that has one left, else all is well."""
        for name, script in self._scripts.items():
            if script.concerns(call):
                step = script.take()
                if not script.steps:
                    del self._scripts[name]
                return step
        return OK

    def left(self) -> list[dict[str, object]]:
        """How many calls each script still waits for."""
        return [
            {
                "method": script.method,
                "path": script.path,
                "match": script.text,
                "left": sum(step.times for step in script.steps),
            }
            for script in self._scripts.values()
        ]

    def clear(self) -> None:
        """No scripts."""
        self._scripts.clear()


def _searchable(call: Call) -> str:
    body = call.body.decode(errors="replace")
    return "\n".join((body, json.dumps(dict(call.query)), call.key or ""))
