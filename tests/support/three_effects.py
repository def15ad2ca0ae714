"""A task for kill tests: three effects of three kinds, a wait, a resting provider, and an effect that fails.

Loaded into the local host as a plugin, in the place of `generate_video`. `EFFECTS_URL` is where the generic
effects of the outside are.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import aiohttp

from shared import bootstrap
from shared.application import Application
from shared.calls.calling import Usage
from shared.calls.failures import CallFailed, FailureKind, Sighting, classify
from shared.calls.retry_after import retry_after
from shared.effects.contract import Done, EffectContract
from shared.errors import TransientError
from shared.tasks.base import TaskContext, TaskInput, TaskResult, Waiting

FRAGILE, ROBUST = "openai", "videos"
"""Names that pipeline.toml knows, so that it can say how soon they rest."""
CALL = timedelta(seconds=2)
LONGEST_ANSWER = 64 * 1024
LAG_SECONDS = 1.0
KEYED = EffectContract(
    action="keyed", provider=ROBUST, version=1, call_timeout=CALL, key_window=timedelta(hours=1)
)
FINDABLE = EffectContract(
    action="findable",
    provider=ROBUST,
    version=1,
    call_timeout=CALL,
    lookup_lag=timedelta(seconds=LAG_SECONDS),
)
BLIND = EffectContract(action="blind", provider=ROBUST, version=1, call_timeout=CALL)
SHAKY = EffectContract(
    action="shaky", provider=ROBUST, version=1, call_timeout=CALL, key_window=timedelta(hours=1)
)
WAIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Effect:
    """A call to the outside's endpoint of one kind; `marker` is how a script finds it."""

    url: str
    kind: str
    marker: str
    within: timedelta = CALL

    async def send(self, key: str) -> Done:
        headers = {"idempotency-key": key} if self.kind == "keyed" else {}
        document = {"reference": key, "marker": self.marker}
        url = f"{self.url}/{self.kind}"
        answer = await _ask("POST", url, self.kind, self.within, headers=headers, json=document)
        return Done(external_id=str(answer["id"]), data={"at": time.time()})

    async def look_up(self, key: str) -> Done | None:
        answer = await _ask("GET", f"{self.url}/findable", self.kind, self.within, params={"reference": key})
        found = answer["effects"]
        return Done(external_id=str(found[0]["id"]), data={"at": time.time()}) if found else None


class ThreeEffects:
    """Implements `Task`. Its input is the marker."""

    name: ClassVar[str] = "generate_video"
    max_input_bytes: ClassVar[int] = 1024

    def __init__(self, url: str) -> None:
        self._url = url

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult | Waiting:
        marker = task_input.content.decode()
        effects = context.effects

        async def perform(contract: EffectContract, kind: str) -> Done:
            cost = Usage(tokens=1)
            call = Effect(self._url, kind, marker)
            return await effects.perform(contract, {"marker": marker}, call, estimate=cost)

        await self._status(context, FRAGILE, marker)
        await perform(KEYED, "keyed")
        found = await perform(FINDABLE, "findable")
        if time.time() < found.data.get("at", 0.0) + WAIT_SECONDS:
            return Waiting("not_ready")
        await perform(SHAKY, "keyed")
        try:
            await self._status(context, "shaky", marker)
        except CallFailed as failed:
            if failed.kind is not FailureKind.REJECTED:
                raise
            await effects.disprove(SHAKY, "creation_failed")
            raise TransientError("The creation came to nothing.") from None
        done = await perform(BLIND, "blind")
        return TaskResult(json.dumps({"blind": done.external_id}).encode(), "application/json")

    async def _status(self, context: TaskContext, provider: str, marker: str) -> None:
        """A question that is safe to repeat; its path names who is asked, for the scripts."""

        async def ask() -> Mapping[str, Any]:
            question = {"reference": f"{provider}-{marker}"}
            return await _ask("GET", f"{self._url}/findable", provider, CALL, params=question)

        await context.calls.run(
            provider, ask, timeout=CALL, estimate=Usage(tokens=1), used=lambda _: Usage(tokens=1)
        )


async def _ask(method: str, url: str, provider: str, within: timedelta, **request: Any) -> Mapping[str, Any]:
    timeout = aiohttp.ClientTimeout(total=within.total_seconds())
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(method, url, allow_redirects=False, **request) as answer,
        ):
            if answer.status not in (200, 201):
                wait = retry_after({k.lower(): v for k, v in answer.headers.items()}, datetime.now(UTC))
                raise classify(Sighting(provider=provider, status=answer.status, retry_after=wait))
            return _document(await _read(answer))
    except aiohttp.ClientConnectorError:
        raise classify(Sighting(provider=provider, sent=False)) from None
    except ValueError:
        raise classify(Sighting(provider=provider, status=200, garbled=True)) from None
    except (aiohttp.ClientError, TimeoutError):
        raise classify(Sighting(provider=provider)) from None


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    body = b""
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > LONGEST_ANSWER:
            raise ValueError("longer than any right answer")
    return body


def _document(body: bytes) -> Mapping[str, Any]:
    document = json.loads(body)
    if not isinstance(document, dict) or not document.keys() & {"id", "effects"}:
        raise ValueError("no answer of this service")
    return document


def install() -> None:
    """Have the application use this task."""
    real = bootstrap.build

    def build(environ: Mapping[str, str]) -> Application:
        built = real(environ)
        tasks = built.services.tasks
        assert isinstance(tasks, dict)
        tasks[ThreeEffects.name] = ThreeEffects(environ["EFFECTS_URL"])
        return built

    bootstrap.build = build
