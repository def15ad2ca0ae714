"""What a test may tell the outside to do."""

from collections.abc import Callable

import pytest

from devhost.outside.control import Control
from devhost.outside.faults import Holds
from devhost.outside.messages import Answer, Call
from devhost.outside.posting import Sender
from devhost.outside.scripts import Scripts
from tests.unit.devhost.outside.calls import Caller

Ask = Callable[[str, str, bytes], Answer]
VIDEO = "/v1/videos/video_1"


@pytest.fixture
def ask(caller: Caller) -> Ask:
    sender = Sender(lambda: caller.world.settings)
    control = Control(caller.world, Scripts(), Holds(), sender)
    headers = {"content-type": "application/json"}

    def asked(method: str, path: str, body: bytes) -> Answer:
        return control.handle(Call(method, f"/control{path}", caller.world.now, headers=headers, body=body))

    return asked


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/script", b'{"method": "GET", "path": "/", "steps": [], "retries": 1}'),
        ("PUT", "/script", b'{"method": "GET", "path": "/", "steps": [{"status": 500, "retries": 1}]}'),
        ("PUT", "/settings", b'{"retries": 1}'),
        ("POST", "/clock", b'{"advance": 1, "retries": 1}'),
        ("POST", "/release", b'{"hold": "here", "retries": 1}'),
        ("POST", "/videos/video_1", b'{"retries": 1}'),
    ],
)
def test_a_field_that_does_nothing_is_refused_by_its_name(
    ask: Ask, method: str, path: str, body: bytes
) -> None:
    answer = ask(method, path, body)
    assert answer.status == 400
    assert b"retries" in answer.body


@pytest.mark.parametrize("body", [b"{}", b'{"hold": 1}', b'{"hold": ""}'])
def test_a_release_says_what_it_releases(ask: Ask, body: bytes) -> None:
    answer = ask("POST", "/release", body)
    assert answer.status == 400
    assert b"hold" in answer.body
