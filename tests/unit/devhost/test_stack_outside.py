"""The outside as a part of the local stack."""

import json
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

from devhost.outside import Remote
from devhost.stack import Part, Stack, StackOptions

OPENER = build_opener(ProxyHandler({}))


def happen(outside: Remote, reference: str) -> str:
    body = json.dumps({"reference": reference}).encode()
    request = Request(f"{outside.effects_url}/findable", body, {"content-type": "application/json"})
    with OPENER.open(request, timeout=60) as answer:
        made: str = json.loads(answer.read())["id"]
    return made


def test_an_outside_that_was_killed_or_ended_comes_back_on_its_port_and_knows_all(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    options = StackOptions(
        state=tmp_path / "state", parts=frozenset({Part.OUTSIDE}), pipeline=None, sample=None
    )
    with Stack(options, said.append) as stack:
        happen(stack.outside, "one")
        url = stack.outside.url
        stack.kill(Part.OUTSIDE)
        stack.wait_ready(Part.OUTSIDE)
        assert stack.outside.url == url
        happen(stack.outside, "two")
        assert stack.outside.effects()["findable"].by_reference == {"one": 1, "two": 1}
        assert set(stack.pids) == {"outside"}
    assert any("outside" in line for line in said)
    with Stack(options, said.append) as stack:
        assert stack.outside.url == url
        assert stack.outside.effects()["findable"].count == 2
