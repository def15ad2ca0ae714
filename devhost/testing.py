"""The local Service Bus for a team's own tests: the broker alone, or with the team's own Functions app.

    with local_stack(folder, queues=["orders"]) as stack:
        ServiceBusClient.from_connection_string(stack.servicebus)

What is returned is a `Stack`: its parts can be killed, frozen and restarted, its connections cut
(`proxied=True`), and the broker's time moved.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from devhost.credentials import write_private
from devhost.stack import Part, Stack, StackOptions

Queues = Path | Iterable[str] | Mapping[str, Mapping[str, object]]


def local_stack(
    folder: Path,
    *,
    queues: Queues,
    app: Path | None = None,
    settings: Mapping[str, str] | None = None,
    storage: bool = False,
    proxied: bool = False,
) -> Stack:
    """A stack not yet started (use it in `with`), its data and logs under `folder`, on free ports.

    `queues`: their names, or their properties by name (`{"orders": {"LockDuration": "PT5S"}}`), or a file in
    the official emulator's form. `app`: the folder of a `function_app.py` to run, with `settings` as its app
    settings; in their values `{servicebus}` and `{storage}` stand for the connection strings. `storage`:
    Azurite too, as `AzureWebJobsStorage`. `proxied`: put `Stack.proxies` between them.
    """
    parts = {Part.BROKER: True, Part.HOST: app is not None, Part.AZURITE: storage}
    return Stack(
        StackOptions(
            state=folder,
            parts=frozenset(part for part, wanted in parts.items() if wanted),
            app=app or folder,
            pipeline=None,
            sample=None,
            extra_settings={"FUNCTIONS_WORKER_RUNTIME": "python", **(settings or {})},
            queues=_queue_file(folder, queues),
            proxied=proxied,
            clock=True,
        )
    )


def _queue_file(folder: Path, queues: Queues) -> Path:
    if isinstance(queues, Path):
        return queues
    if isinstance(queues, str):  # its letters would be the names
        raise TypeError(f"queues: expected names, properties by name, or a Path; found the string {queues!r}")
    properties = queues if isinstance(queues, Mapping) else {name: {} for name in queues}
    listed = [{"Name": name, "Properties": dict(given)} for name, given in properties.items()]
    file = folder / "queues.json"
    write_private(file, {"UserConfig": {"Namespaces": [{"Name": "local", "Queues": listed}]}})
    return file
