"""What comes of small apps on one of the two workers, without a host around it.

    python -m tests.support.worker_index.outcomes own|library FOLDER

Each script in FOLDER is an app, beside it a JSON file with its settings and whether its functions
are called, each once, all together. Standard output gets the outcomes by script. The library keeps what it
indexed in its module, where apps do not get in each other's way.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from azure.functions.meta import Datum

from devhost.functions.context import TraceContext
from devhost.functions.convert import as_json, text
from devhost.functions.errors import StartError
from devhost.functions.worker.choice import WorkerKind, make_worker
from devhost.functions.worker.protocol import (
    FunctionFailed,
    HttpResult,
    IndexedFunction,
    Invocation,
    Result,
    Worker,
)
from tests.support.worker_index.inputs import TIMER, http

_TRACE = TraceContext("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "k=v")
_PROPERTIES = as_json({"DeadLetterReason": "Over", "n": 1, "f": 1.5, "b": True, "none": None})
_METADATA = {
    "MessageId": text("m-1"),
    "DeliveryCount": as_json(2),
    "SequenceNumber": as_json(7),
    "LockToken": text("0f8fad5b-d9cb-469f-a165-70867728950e"),
    "EnqueuedTimeUtc": as_json("2026-01-02T03:04:05.678"),
    "ExpiresAtUtc": as_json("9999-12-31T23:59:59.9999999"),
    "ContentType": text("application/json"),
    "CorrelationId": text("c-1"),
    "Subject": text("s"),
    "Label": text("s"),
    "ApplicationProperties": _PROPERTIES,
    "UserProperties": _PROPERTIES,
}
_REQUEST = http("POST", "items/{id}", {"id": "7 ä"}, b'{"a": 1}', {"x-a": "1,2"})
_SECONDS = 120


async def outcome(kind: WorkerKind, folder: Path, script: str, *, call: bool) -> dict[str, Any]:
    """Index the app and call its functions; a refused app has none."""
    worker = make_worker(kind)
    try:
        indexed = await worker.index(folder)
    except StartError as refusal:
        return {"refused": refusal.problems}
    called = indexed if call else []
    calls = await asyncio.gather(*(_call(worker, function, script) for function in called))
    return {"functions": [asdict(each) for each in indexed], "calls": calls}


async def _call(worker: Worker, function: IndexedFunction, script: str) -> dict[str, Any]:
    trigger = next(each for each in function.bindings if each["type"].endswith("Trigger"))
    data, metadata = _input_of(trigger)
    invocation = Invocation(
        id=f"call-of-{function.name}",
        function_id=function.id,
        parameter=trigger["name"],
        data=data,
        metadata=metadata,
        trace=_TRACE,
    )
    running = asyncio.create_task(worker.invoke(invocation))
    await asyncio.wait({running}, timeout=_SECONDS)
    if running.cancelled():
        return {"unanswered": "CancelledError"}
    try:
        return {"returned": _wire(running.result())}
    except FunctionFailed as failure:
        return {"failed": failure.message, "traced": f'{script}", line ' in failure.stack_trace}


def _input_of(trigger: Any) -> tuple[Datum, dict[str, Datum]]:
    match trigger["type"]:
        case "httpTrigger":
            return _REQUEST, {}
        case "timerTrigger":
            return TIMER, {}
        case _:
            return Datum(b"\x00\xff", "bytes") if "dataType" in trigger else text("ä"), _METADATA


def _wire(result: Result) -> Any:
    if not isinstance(result, HttpResult):
        return result
    return asdict(result) | {"body": result.body.hex(), "cookies": [repr(each) for each in result.cookies]}


async def _main(kind: WorkerKind, folder: Path, scripts: Sequence[Path]) -> dict[str, Any]:
    outcomes = {}
    for script in scripts:
        given = json.loads(script.with_suffix(".json").read_text())
        settings = {"PYTHON_SCRIPT_FILE_NAME": script.name, **given["settings"]}
        os.environ.update(settings)
        outcomes[script.name] = await outcome(kind, folder, script.name, call=given["call"])
        for name in settings:
            del os.environ[name]
    return outcomes


if __name__ == "__main__":
    answers, sys.stdout = sys.stdout, sys.stderr  # what an app prints must not get between
    apps = Path(sys.argv[2])
    sys.path.insert(0, str(apps))
    json.dump(
        asyncio.run(_main(WorkerKind(sys.argv[1]), apps, sorted(apps.glob("*.py")))), answers, default=str
    )
