"""A source for every scheme and way, as pipeline.toml has them, and what their senders send over HTTP."""

import asyncio
import base64
import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from azure.data.tables import TableServiceClient

from devhost.senders import Sent, azure_monitor, event_grid, fal
from tests.flows.driver import PIPELINE, TEXT, Flow
from tests.support.issuer import Handler, Issuer, entra_claims, never, public_jwk, running_issuer, token
from tests.unit.shared.webhooks.receiving import ALERT, DELIVERIES, GRID, SEED, Delivery
from tests.unit.shared.webhooks.sources import EXAMPLES, TENANT

SILENT = "event-grid-silent"
"""A source whose published keys cannot be had: their server never answers."""
_TOKENS: Mapping[str, Delivery] = {
    "azure-monitor-token": Delivery(ALERT, azure_monitor.signed, {"header": "authorization"}),
    "event-grid-token": Delivery(GRID, event_grid.signed, {"header": "authorization"}),
}
SENDERS: Mapping[str, Delivery] = {**DELIVERIES, **_TOKENS}
assert SENDERS.keys() == EXAMPLES.keys(), "a scheme or a way of it has no sender here"

_IDS = {
    "azure-monitor": "/alerts/1",
    "event-grid": '"id": "1"',
    "fal": "req-1",
    "meta": "wamid.A",
    "slack": "Ev1",
    "stripe": "evt_1",
    "twilio": f"SM{'0' * 32}",
}
"""What is the event's id in the body of the schemes whose id does not follow from the whole body."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`status` 0: the connection broke."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.content)


def body_of(source: str, number: int) -> bytes:
    """The source's usual event, under an id of its own for each number."""
    text = SENDERS[source].body.decode()
    found = _IDS.get(EXAMPLES[source].scheme)
    if found is None:
        return text.replace("{", f'{{"number": {number}, ', 1).encode()
    assert text.count(found) == 1
    end = found.rstrip('"')
    kept = end[: len(end) - 4] if end.endswith("0000") else end[:-1]
    digits = f"{number:04d}" if end.endswith("0000") else str(number)
    return text.replace(found, kept + digits + found[len(end) :]).encode()


def sent(source: str, body: bytes, *, forged: bool = False) -> Sent:
    """As the source's sender signs it now; `forged`: as somebody would who does not have the secret."""
    delivery, now = SENDERS[source], datetime.now(UTC)
    secret = _token(source, forged) if source in _TOKENS else _secret(source, forged)
    return delivery.sign(body, secret, now=now, **delivery.options)


def send(flow: Flow, source: str, signed: Sent, method: str = "POST") -> Answer:
    headers, query, body = signed
    path = f"/api/webhooks/{source}"
    connection = http.client.HTTPConnection(urlsplit(flow.stack.url).netloc, timeout=60)
    try:
        connection.request(method, f"{path}?{query}" if query else path, body, headers)
        response = connection.getresponse()
        content = response.read()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, content)
    except (OSError, http.client.HTTPException):
        return Answer(0, {}, b"")
    finally:
        connection.close()


def jobs_of(flow: Flow) -> set[str]:
    """The partitions of the jobs table: one for each job."""
    with TableServiceClient.from_connection_string(flow.stack.storage) as service:
        if not list(service.query_tables("TableName eq 'jobs'")):
            return set()
        rows = service.get_table_client("jobs").list_entities(select=["PartitionKey"])
        return {str(row["PartitionKey"]) for row in rows}


def _secret(source: str, forged: bool) -> str:
    good = SENDERS[source].secret or next(iter(EXAMPLES[source].settings.values()))
    if not forged:
        return good
    key = bytes(range(32, 64))
    match good:
        case _ if good == SEED:
            return base64.b64encode(key).decode()
        case _ if good.startswith(("whsec_", "whsk_")):
            return good.partition("_")[0] + "_" + base64.b64encode(key).decode()
        case _ if EXAMPLES[source].table.get("key_encoding") == "hex":
            return key.hex()
        case _:
            return "a secret that somebody made up"


def _token(source: str, forged: bool) -> str:
    table = EXAMPLES[source].table["token"]
    claims = entra_claims(
        tenant=TENANT,
        audience="api://afterhook",
        app_id=table.get("app_id", "any"),
        role=table["role"],
        now=datetime.now(UTC),
    )
    return token(claims, "second" if forged else "first", kid="first")


@contextmanager
def published_keys() -> Iterator[Issuer]:
    """The keys of Entra ID's issuer and of fal.ai, served from a thread; below `/silent`, no answer."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="issuer", daemon=True)
    thread.start()
    running = running_issuer()

    def call(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(30)

    try:
        issuer = call(running.__aenter__())
        issuer.answer = _answering([public_jwk("first"), fal.published(SEED)])
        try:
            yield issuer
        finally:
            call(running.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


def _answering(keys: list[Any]) -> Handler:
    silent = never()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/silent"):
            return await silent(request)
        return web.json_response({"keys": keys})

    return answer


def settings() -> dict[str, str]:
    """The secrets of all sources, under names of their own, and the key of sources without secrets."""
    return {"AFTERHOOK_PSEUDONYM_KEY": "an invented key of the tests"} | {
        _own(name, setting): value for name, e in EXAMPLES.items() for setting, value in e.settings.items()
    }


def write_pipeline(file: Path, issuer: Issuer) -> Path:
    """A source for each example, which starts a short task for whatever it sends."""
    tables = [_source(name, EXAMPLES[name].scheme, _table(name, issuer.address)) for name in EXAMPLES]
    silent = _table("event-grid-token", f"{issuer.origin}/silent")
    tables.append(_source(SILENT, "event-grid", silent))
    tasks = PIPELINE.read_text(encoding="utf-8").partition("[tasks.")
    file.write_text("\n".join([*tables, tasks[1] + tasks[2]]), encoding="utf-8")
    return file


def _table(name: str, address: str) -> dict[str, Any]:
    example = EXAMPLES[name]
    table: dict[str, Any] = dict(example.table)
    if example.secrets:
        table["secrets"] = [_own(name, setting) for setting in example.secrets]
    if "token" in table:
        table["token"] = {**table["token"], "keys_url": address}
    if example.scheme == "fal":
        table["keys_url"] = address
    if "verify_token" in table:
        table["verify_token"] = _own(name, table["verify_token"])
    if "shared_keys" in table:
        table["shared_keys"] = {key: _own(name, value) for key, value in table["shared_keys"].items()}
    return table


def _own(name: str, setting: str) -> str:
    return f"{name.upper().replace('-', '_')}_{setting}"


def _source(name: str, scheme: str, table: Mapping[str, Any]) -> str:
    """TOML; its strings, lists and numbers are written as JSON's are."""
    line: Callable[[str, Any], str] = lambda key, value: f"{json.dumps(key)} = {json.dumps(value)}"  # noqa: E731
    flat = [line(key, value) for key, value in table.items() if not isinstance(value, dict)]
    deep = [
        f"[sources.{name}.{key}]\n" + "\n".join(line(*item) for item in value.items())
        for key, value in table.items()
        if isinstance(value, dict)
    ]
    route = [f"[[sources.{name}.routes]]", line("event", "*"), line("task", "summarize_document")]
    route.append(line("input", f"'{TEXT}'"))
    return "\n".join([f"[sources.{name}]", line("scheme", scheme), *flat, *deep, *route, ""])
