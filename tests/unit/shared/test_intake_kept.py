"""What a route keeps of an event beside the input."""

import fnmatch
import json
import re
from dataclasses import replace
from typing import Any

import jmespath
import pytest

from shared.intake import Accepted
from shared.pipeline import Pipeline, Route
from shared.ports import RowKind
from tests.support.application import SOURCE, TASK, build_intake, build_services, pipeline, webhook
from tests.support.fakes import World

EVENT: dict[str, Any] = {"type": "a", "data": {"text": "A short report.", "mode": "live"}}
COMPACT = json.dumps(EVENT, separators=(",", ":")).encode()


def keeping(keep: str, content: str | None = None) -> Pipeline:
    route = Route(
        event="*",
        pattern=re.compile(fnmatch.translate("*")),
        task=TASK,
        input=jmespath.compile(content) if content else None,
        keep=jmespath.compile(keep),
    )
    policies = pipeline()
    return replace(policies, sources={SOURCE: replace(policies.sources[SOURCE], routes=(route,))})


async def stored(world: World, policies: Pipeline, body: bytes) -> tuple[str | None, list[bytes | None]]:
    """The reference of the job's input, and the contents of the rows of inputs."""
    services = build_services(world, pipeline=policies)
    receipts = await build_intake(services).receive(SOURCE, webhook(world, body))
    assert isinstance(receipts, list)
    (receipt,) = receipts
    assert isinstance(receipt, Accepted)
    rows = await world.jobs.rows(receipt.job_id, RowKind.INPUT)
    return world.jobs.job(receipt.job_id).input_ref, [row.content for row in rows]


async def test_what_is_kept_lies_in_a_row_of_its_own() -> None:
    _, contents = await stored(World(), keeping("{mode: data.mode}", "data.text"), COMPACT)
    assert sorted(filter(None, contents)) == [b"A short report.", b'{"mode":"live"}']


@pytest.mark.parametrize(("keep", "content"), [("@", None), ("data", "data")])
async def test_what_is_kept_may_be_the_input_itself(keep: str, content: str | None) -> None:
    world = World()
    ref, contents = await stored(world, keeping(keep, content), COMPACT)
    assert len(contents) == 1
    (timeline,) = await world.jobs.rows(next(iter(world.jobs.all_jobs())).job_id, RowKind.TIMELINE)
    assert timeline.data["note"] == f"Kept of the event: {ref}."
