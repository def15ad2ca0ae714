"""Apps with queue functions, and the broker they talk to."""

from pathlib import Path
from typing import Any

from tests.host.broker import QUEUE, BrokerProcess
from tests.host.harness import write_app

HEAD = """
import asyncio, datetime, json, sys, time

def say(word, **more):
    sys.stderr.write(f"{word} {json.dumps(more, default=repr)}\\n")
"""
WORK = (
    HEAD
    + """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="%QUEUE%", connection="Bus")
async def work(msg: func.ServiceBusMessage, context: func.Context) -> None:
    BODY
"""
)
DEAD = """
@app.service_bus_queue_trigger(arg_name="msg", queue_name="%QUEUE%/$deadletterqueue", connection="Bus")
async def dead(msg: func.ServiceBusMessage) -> None:
    say("DEAD", body=msg.get_body(), reason=msg.dead_letter_reason, properties=msg.application_properties,
        count=msg.delivery_count)
"""
GOT = 'say("GOT", body=msg.get_body().decode(), count=msg.delivery_count)'


def queue_app(folder: Path, broker: BrokerProcess, source: str, **host_json: Any) -> Path:
    values = {"Bus": broker.connection_string, "QUEUE": QUEUE}
    return write_app(folder / "app", source, host_json=host_json, values=values)


def work_app(body: str) -> str:
    return WORK.replace("BODY", body)


def service_bus(**options: Any) -> dict[str, Any]:
    return {"serviceBus": options}
