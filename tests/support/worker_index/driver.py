"""Indexes an app with azure-functions-runtime as the host would have it, then invokes on demand.

    python -P driver.py APP_FOLDER

Runs by itself under Python 3.13, with nothing of the project on its path but the app folder. The first line
on standard output says what was indexed, or the worker's refusal; each line on standard input is then one
invocation, answered with one line. The host's side is played here: the two requests that index an app, and
plain records for the classes of its protocol (FunctionRpc.proto of
https://github.com/Azure/azure-functions-language-worker-protobuf), which the runtime is given and only fills
and compares.
"""

import asyncio
import base64
import json
import os
import sys
import uuid
from types import SimpleNamespace
from typing import Any

import azure_functions_runtime as runtime
from azure.functions.meta import Datum as AnswerDatum
from azure_functions_runtime.bindings.datumdef import Datum
from azure_functions_runtime.native_invocation import invocation_request_native


class StatusResult(SimpleNamespace):
    """How a request ended. The numbers are the protocol's."""

    Failure, Success = 0, 1


class BindingInfo(SimpleNamespace):
    """One binding, its direction and its data type. The numbers are the protocol's."""

    out, inout = 1, 2
    undefined, string, binary, stream = 0, 1, 2, 3


setattr(BindingInfo, "in", 0)  # a keyword, so it cannot be written above


class Protocol:
    """The generated module: whatever else is asked of it is a record of the fields it gets."""

    StatusResult, BindingInfo = StatusResult, BindingInfo

    def __getattr__(self, name: str) -> type[SimpleNamespace]:
        return SimpleNamespace


def request(kind: str, **fields: Any) -> SimpleNamespace:
    """A request in the envelope that the proxy worker puts around the host's."""
    body = SimpleNamespace(**{kind: SimpleNamespace(**fields)})
    return SimpleNamespace(name=kind, request=body, properties={"protos": Protocol(), "host": "127.0.0.1"})


async def index(folder: str) -> dict[str, Any]:
    """What the worker tells the host about the app: its functions with their bindings, or its refusal."""
    begun = await runtime.worker_init_request(
        request("worker_init_request", capabilities={}, function_app_directory=folder)
    )
    if begun.result.status != StatusResult.Success:
        return {"refusal": begun.result.exception.message}
    answer = await runtime.functions_metadata_request(request("functions_metadata_request"))
    found = answer.function_metadata_results or []  # None for an app without functions
    functions = {
        item.name: {
            "id": item.function_id,
            "bindings": [json.loads(binding) for binding in item.raw_bindings],
            "retries": item.retry_options is not None,
        }
        for item in found
    }
    return {"functions": functions}


async def invoke(order: dict[str, Any]) -> dict[str, Any]:
    """Run one function; "held" when it has not ended in the seconds given, as a message's lock is then."""
    metadata = {name: datum(item) for name, item in order["metadata"].items()}
    inputs = [(order["parameter"], datum(order["data"]))]
    running = asyncio.create_task(
        invocation_request_native(str(uuid.uuid4()), order["function"], inputs, metadata)
    )
    await asyncio.wait({running}, timeout=order["seconds"])
    if not running.done():
        running.cancel()
        await asyncio.wait({running})
        return {"state": "held"}
    returned, value, _, error, _ = running.result()
    return {"state": "returned" if returned else "raised", "value": wire(value), "error": error}


def datum(item: Any) -> Any:
    """From `[type, value]` as the test sends it."""
    if isinstance(item, dict):
        return {name: datum(value) for name, value in item.items()}
    kind, value = item
    if kind == "bytes":
        return Datum(base64.b64decode(value), kind)
    return Datum(datum(value) if kind == "http" else value, kind)


def wire(value: Any) -> Any:
    """The other way, for a Datum of the runtime's or of azure.functions' own."""
    if isinstance(value, (Datum, AnswerDatum)):
        return [value.type, wire(value.value)]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: wire(item) for name, item in value.items()}
    return value


async def main(folder: str) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # what the app prints must not get between the answers

    def say(document: dict[str, Any]) -> None:
        answers.write(json.dumps(document) + "\n")
        answers.flush()

    # The host's part before it indexes: the app's folder is where modules are found, and the working folder.
    sys.path.insert(0, folder)
    os.chdir(folder)
    runtime.start_threadpool_executor()
    try:
        say(await index(folder))
        while line := await asyncio.to_thread(sys.stdin.readline):
            say(await invoke(json.loads(line)))
    finally:
        runtime.stop_threadpool_executor()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
