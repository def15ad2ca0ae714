"""The real tasks with short times, and beside them single effects, for tests of what follows a fault.

Loaded into the local host as a plugin. An input `KIND MARKER`, of either task, has that effect made at
`EFFECTS_URL`. Each marker has providers of its own, so that none rests for another's
faults.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar

import shared.adapters.openai_sdk  # loaded here, or the first call of a model would wait for it
from shared import bootstrap
from shared.adapters import openai_summarizer, posts
from shared.application import Application
from shared.effects.contract import EffectContract
from shared.limits import provider_calls
from shared.notify import receivers, timing
from shared.pipeline.policies import BreakerPolicy
from shared.retry import BackoffCurve
from shared.tasks import generate_video
from shared.tasks.base import Task, TaskContext, TaskInput, TaskResult, Waiting
from tests.support.three_effects import BLIND, FINDABLE, KEYED, Effect

CALL = timedelta(seconds=4)
"""How long each call may take, to whomever."""
POST = timedelta(seconds=2)
REFUSING = "http://127.0.0.1:1"
PAUSE = timedelta(milliseconds=300)
CONTRACTS: Mapping[str, EffectContract] = {
    "keyed": KEYED,
    "findable": FINDABLE,
    "blind": BLIND,
    "refused": BLIND,
}


@dataclass(frozen=True, slots=True)
class Beside:
    """Implements `Task`: the real one, or one effect."""

    real: Task
    url: str

    name: ClassVar[str] = "any"

    @property
    def max_input_bytes(self) -> int:
        return self.real.max_input_bytes

    async def run(self, task_input: TaskInput, context: TaskContext) -> TaskResult | Waiting:
        kind, _, marker = task_input.content.decode().partition(" ")
        if kind not in CONTRACTS:
            return await self.real.run(task_input, context)
        wanted = CONTRACTS[kind]
        contract = replace(wanted, provider=f"{kind}-{marker}", call_timeout=CALL)
        call = Effect(REFUSING if kind == "refused" else self.url, wanted.action, marker, CALL)
        done = await context.effects.perform(contract, {"marker": marker}, call)
        return TaskResult(json.dumps({"id": done.external_id}).encode(), "application/json")


def install() -> None:
    """Shorten the times, and have the application use this task."""
    assert shared.adapters.openai_sdk.MAX_ANSWER
    _shorten()
    real = bootstrap.build

    def build(environ: Mapping[str, str]) -> Application:
        built = real(environ)
        tasks = built.services.tasks
        assert isinstance(tasks, dict)
        tasks |= {name: Beside(task, environ["EFFECTS_URL"]) for name, task in tasks.items()}
        return built

    bootstrap.build = build


def _shorten() -> None:
    """What is no setting, because nobody but a test wants it so short."""
    changes: list[tuple[Any, str, Any]] = [
        (openai_summarizer, "CALL_TIMEOUT", CALL),
        (generate_video, "STATUS_TIMEOUT", CALL),
        (generate_video, "FETCH_TIMEOUT", CALL),
        (timing, "BACKOFF", BackoffCurve(base=PAUSE, factor=1, cap=timedelta(seconds=5))),
        (receivers, "FAILURES", 1000),
        (provider_calls, "_DEFAULT", BreakerPolicy(failures=1000)),
        (posts.WebhookPosts.__init__, "__defaults__", (POST,)),
    ]
    for owner, name, value in changes:
        assert hasattr(owner, name), name
        setattr(owner, name, value)
