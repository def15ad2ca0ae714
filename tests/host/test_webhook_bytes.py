"""Signed webhooks over real sockets: what the host hands over still verifies, however the bytes came."""

import json
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devhost.senders.github import signed
from shared.webhooks.base import Options, Trust, WebhookRequest
from shared.webhooks.github import GitHub
from shared.webhooks.rejections import BadSignature
from tests.host.harness import PATIENCE_SECONDS, HostProcess, write_app

pytestmark = pytest.mark.host

APP = """
import json

@app.route(route="webhooks/{source}")
def webhook(req: func.HttpRequest) -> func.HttpResponse:
    headers = {name.lower(): value for name, value in req.headers.items()}
    return func.HttpResponse(json.dumps({"headers": headers, "body": req.get_body().hex(), "url": req.url}))
"""
SECRET = "an invented secret of the tests"
NOW = datetime(2026, 7, 27, 10, 15, tzinfo=UTC)
BODIES = [
    pytest.param(b'{"action":"opened"}', id="compact", marks=pytest.mark.case(1, 2)),
    pytest.param(b'{\r\n  "action" :"opened" }\n', id="spaced", marks=pytest.mark.case(2, 12)),
    pytest.param('{"text":"Grüße ☕ 👋"}'.encode(), id="beyond-ascii", marks=pytest.mark.case(8, 10)),
    pytest.param(bytes(range(0x80, 0x100)), id="binary", marks=pytest.mark.case(5)),
]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    with HostProcess(write_app(tmp_path_factory.mktemp("bytes") / "app", APP)) as running:
        yield running


def handed_over(answer: Any) -> WebhookRequest:
    return WebhookRequest(
        method="POST",
        headers=answer["headers"],
        query="",
        url=answer["url"],
        body=bytes.fromhex(answer["body"]),
    )


def verifies(request: WebhookRequest) -> bool:
    trust = Trust(options=Options(), now=NOW, tolerance=timedelta(minutes=5), keys=[SECRET.encode()])
    try:
        return GitHub().verify(request, trust).secret_index == 0
    except BadSignature:
        return False


@pytest.mark.parametrize("body", BODIES)
def test_a_signed_body_verifies_as_it_is_handed_over(host: HostProcess, body: bytes) -> None:
    headers, _, content = signed(body, SECRET, now=NOW)
    request = handed_over(host.request("POST", "/api/webhooks/github", content, headers).json())
    assert request.body == body
    assert verifies(request)


@pytest.mark.parametrize("body", BODIES)
def test_a_signed_body_verifies_when_each_byte_comes_alone(host: HostProcess, body: bytes) -> None:
    headers, _, content = signed(body, SECRET, now=NOW)
    lines = [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join(
        [
            "POST /api/webhooks/github HTTP/1.1",
            "Host: localhost",
            "Connection: close",
            f"Content-Length: {len(content)}",
            *lines,
            "\r\n",
        ]
    )
    with socket.create_connection(("127.0.0.1", host.port), timeout=PATIENCE_SECONDS) as raw:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.sendall(head.encode())
        for byte in content:
            raw.sendall(bytes([byte]))
        answer = b"".join(iter(lambda: raw.recv(65_536), b""))
    request = handed_over(json.loads(answer.partition(b"\r\n\r\n")[2]))
    assert request.body == body
    assert verifies(request)


@pytest.mark.case(37)
def test_the_case_of_header_names_does_not_matter(host: HostProcess) -> None:
    headers, _, content = signed(b"{}", SECRET, now=NOW)
    shouted = {name.upper(): value for name, value in headers.items()}
    assert verifies(handed_over(host.request("POST", "/api/webhooks/github", content, shouted).json()))


@pytest.mark.case(4)
def test_a_chunked_body_comes_without_its_length_and_does_not_verify(host: HostProcess) -> None:
    headers, _, content = signed(b"{}", SECRET, now=NOW)
    answer = host.request("POST", "/api/webhooks/github", iter([content]), headers, encode_chunked=True)
    request = handed_over(answer.json())
    assert "content-length" not in request.headers
    assert not verifies(request)
