"""The whole application on a local stack of its own, for flow tests."""

from collections.abc import Mapping
from pathlib import Path

from devhost.faults.failpoints import Failpoints
from devhost.functions.worker.choice import WorkerKind
from devhost.paths import PIPELINE
from devhost.stack import Stack, StackOptions
from tests.support import host_worker

LOCK_DURATION = "PT5S"
"""Short, so that a message held by a killed host comes back soon."""


def flow_stack(
    folder: Path,
    *,
    lock_duration: str = LOCK_DURATION,
    settings: Mapping[str, str] | None = None,
    pipeline: Path = PIPELINE,
    proxied: bool = False,
    worker: WorkerKind | None = None,
    plugins: tuple[str, ...] = (),
    http_port: int | None = None,
    storage_in_memory: bool = False,
) -> Stack:
    """A stack not yet started (use it in `with`), with failpoints, its data and logs under `folder`.

    `worker` is the one of the test run unless given.
    """
    return Stack(
        StackOptions(
            state=folder,
            pipeline=pipeline,
            queue_properties={"LockDuration": lock_duration},
            extra_settings=settings or {},
            failpoints=True,
            plugins=plugins,
            http_port=http_port,
            proxied=proxied,
            storage_in_memory=storage_in_memory,
            worker_python=host_worker.python_for(worker),
        )
    )


def failpoints_of(stack: Stack) -> Failpoints:
    """Arms and watches the failpoints of the stack's host."""
    return Failpoints(stack.failpoints)
