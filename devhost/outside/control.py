"""How a test tells the outside what to do, and asks what happened: everything under `/control`."""

import os
from collections.abc import Iterator
from typing import Any

from devhost.outside.faults import Holds
from devhost.outside.loopback import is_loopback
from devhost.outside.messages import Answer, Call, Refused
from devhost.outside.posting import Sender
from devhost.outside.routes import Route, Routes, plain_errors
from devhost.outside.scripts import Scripts
from devhost.outside.settings import SettingError
from devhost.outside.steps import StepError
from devhost.outside.world import World

PREFIX = "/control"
_MOST_SECONDS = 10 * 365 * 86_400.0


class Control:
    """The operations; no script ever concerns them."""

    def __init__(self, world: World, scripts: Scripts, holds: Holds, sender: Sender) -> None:
        self._world = world
        self._scripts = scripts
        self._holds = holds
        self._sender = sender
        self.resets = 0
        """How often everything was reset: a call from before has no effect any more."""
        self._routes = Routes(self._all())

    def handle(self, call: Call) -> Answer:
        """Do what is asked."""
        return self._routes.handle(call)

    def _all(self) -> Iterator[Route]:
        for method, path, handle in (
            ("GET", "", self._show),
            ("DELETE", "", self._reset),
            ("GET", "/effects", self._effects),
            ("GET", "/calls", self._calls),
            ("GET", "/callbacks", self._callbacks),
            ("GET", "/posts", self._posts),
            ("PUT", "/script", self._script),
            ("PUT", "/settings", self._settings),
            ("POST", "/clock", self._clock),
            ("POST", "/release", self._release),
            ("POST", "/videos/*", self._finish),
        ):
            yield Route(method, PREFIX + path, handle, plain_errors)

    def _show(self, _call: Call, _: tuple[str, ...]) -> Answer:
        return Answer.json(
            {
                "pid": os.getpid(),
                "now": self._world.now,
                "settings": self._world.settings.document(),
                "scripts": self._scripts.left(),
                "held": self._holds.names(),
            }
        )

    def _effects(self, _call: Call, _: tuple[str, ...]) -> Answer:
        return Answer.json(self._world.effects.snapshot())

    def _calls(self, _call: Call, _: tuple[str, ...]) -> Answer:
        return Answer.json(self._world.calls)

    def _callbacks(self, _call: Call, _: tuple[str, ...]) -> Answer:
        return Answer.json(self._world.callbacks.received())

    def _posts(self, _call: Call, _: tuple[str, ...]) -> Answer:
        return Answer.json(self._sender.told())

    def _script(self, call: Call, _: tuple[str, ...]) -> Answer:
        try:
            self._scripts.put(call.fields())
        except StepError as error:
            raise Refused(400, "invalid_script", f"This is no script: {error}.") from error
        return Answer.json({"scripts": self._scripts.left()})

    def _settings(self, call: Call, _: tuple[str, ...]) -> Answer:
        try:
            self._world.configure(call.fields())
        except SettingError as error:
            raise Refused(400, "invalid_setting", f"This cannot be set: {error}.") from error
        return Answer.json(self._world.settings.document())

    def _clock(self, call: Call, _: tuple[str, ...]) -> Answer:
        seconds = _fields(call, "advance").get("advance")
        if (
            isinstance(seconds, bool)
            or not isinstance(seconds, int | float)
            or not 0 <= seconds <= _MOST_SECONDS
        ):
            raise Refused(400, "invalid_clock", "advance is a number of seconds, not below zero.")
        self._world.advance(float(seconds))
        return Answer.json({"now": self._world.now})

    def _release(self, call: Call, _: tuple[str, ...]) -> Answer:
        hold = _text(_fields(call, "hold"), "hold")
        if not hold:
            raise Refused(400, "invalid_field", "hold is the name that a step's hold gave.")
        return Answer.json({"released": self._holds.release(hold)})

    def _finish(self, call: Call, found: tuple[str, ...]) -> Answer:
        fields = _fields(call, "fails", "callback_url")
        fails, url = _text(fields, "fails"), _text(fields, "callback_url")
        if url and not is_loopback(url):
            raise Refused(400, "invalid_url", "Callbacks are sent to http addresses on loopback alone.")
        document, posts = self._world.finish(found[0], fails=fails, callback_url=url)
        return Answer.json(document, posts=posts)

    def _reset(self, _call: Call, _: tuple[str, ...]) -> Answer:
        self.resets += 1
        self._scripts.clear()
        self._sender.forget()
        self._world.reset()
        self._holds.release_all()
        return Answer(204)


def _fields(call: Call, *known: str) -> dict[str, Any]:
    """The body's fields. Raises Refused for one that this operation does not know: a misspelt one does
    nothing, and the test that sent it would not show what it says."""
    fields = call.fields()
    unknown = sorted(set(fields) - set(known))
    if unknown:
        text = f"There is no {', '.join(map(repr, unknown))} here; there is {', '.join(known)}."
        raise Refused(400, "unknown_field", text)
    return fields


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise Refused(400, "invalid_field", f"{name} is a text.")
    return value
