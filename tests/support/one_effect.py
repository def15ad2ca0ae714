"""A cheap task for tests of many jobs: one effect and a tiny result.

Loaded into the local host as a plugin, in the place of `generate_video`. `EFFECTS_URL` is where the generic
effects of the outside are.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import aiohttp

from shared import bootstrap
from shared.application import Application
from shared.calls.failures import Sighting, classify
from shared.effects.contract import Done, EffectContract
from shared.tasks.base import TaskContext, TaskInput, TaskResult, Waiting

CALL = timedelta(seconds=3)
LAG_SECONDS = 1.0
CONTRACTS: Mapping[str, EffectContract] = {
    "keyed": EffectContract(
        action="keyed", provider="keyed", version=1, call_timeout=CALL, key_window=timedelta(hours=1)
    ),
    "findable": EffectContract(
        action="findable",
        provider="findable",
        version=1,
        call_timeout=CALL,
        lookup_lag=timedelta(seconds=LAG_SECONDS),
    ),
    "blind": EffectContract(action="blind", provider="blind", version=1, call_timeout=CALL),
}
"""What the provider promises, by the word that the task's input begins with."""


class Outside:
    """The generic effects over one client that is opened at the first call."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, method: str, kind: str, **request: Any) -> Mapping[str, Any]:
        """The answer. Raises CallFailed."""
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(CALL.total_seconds()))
        try:
            async with self._session.request(method, f"{self._url}/{kind}", **request) as answer:
                if answer.status not in (200, 201):
                    raise classify(Sighting(provider=kind, status=answer.status))
                document: Mapping[str, Any] = await answer.json()
                return document
        except aiohttp.ClientConnectorError:
            raise classify(Sighting(provider=kind, sent=False)) from None
        except (aiohttp.ClientError, TimeoutError, ValueError):
            raise classify(Sighting(provider=kind)) from None

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


@dataclass(frozen=True, slots=True)
class Effect:
    outside: Outside
    kind: str

    async def send(self, key: str) -> Done:
        headers = {"idempotency-key": key} if self.kind == "keyed" else {}
        answer = await self.outside.ask("POST", self.kind, headers=headers, json={"reference": key})
        return Done(external_id=str(answer["id"]))

    async def look_up(self, key: str) -> Done | None:
        answer = await self.outside.ask("GET", "findable", params={"reference": key})
        found = answer["effects"]
        return Done(external_id=str(found[0]["id"])) if found else None


class OneEffect:
    """Implements `Task`. Its input is a kind of CONTRACTS and, after a space, anything."""

    name: ClassVar[str] = "generate_video"
    max_input_bytes: ClassVar[int] = 1024

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult | Waiting:
        text = task_input.content.decode()
        kind = text.partition(" ")[0]
        done = await context.effects.perform(CONTRACTS[kind], {"text": text}, Effect(self._outside, kind))
        return TaskResult(json.dumps({kind: done.external_id}).encode(), "application/json")


def install() -> None:
    """Have the application use this task."""
    real = bootstrap.build

    def build(environ: Mapping[str, str]) -> Application:
        built = real(environ)
        outside = Outside(environ["EFFECTS_URL"])
        tasks = built.services.tasks
        assert isinstance(tasks, dict)
        tasks[OneEffect.name] = OneEffect(outside)
        built._closers = (outside.aclose, *built._closers)
        return built

    bootstrap.build = build
