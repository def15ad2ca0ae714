"""The local host's own worker around a single function, without an app."""

from collections.abc import Callable
from typing import Any

from devhost.functions.definitions import GENERIC, FunctionDefinition
from devhost.functions.worker.indexing import LoadedFunction
from devhost.functions.worker.own import OwnWorker


def knowing(
    call: Callable[..., Any],
    trigger: dict[str, Any],
    *,
    name: str = "fn",
    converter: str = GENERIC,
    return_binding: str | None = None,
) -> tuple[OwnWorker, FunctionDefinition]:
    """A worker that knows one function, and the function as the host knows it."""
    worker = OwnWorker({})
    worker.add(
        name,
        LoadedFunction(
            name=name,
            call=call,
            directory="",
            converters={trigger["name"]: converter},
            requires_context=False,
            return_binding=return_binding,
            return_type=None,
        ),
    )
    return worker, FunctionDefinition(
        id=name, name=name, trigger=trigger, has_return=return_binding is not None
    )
