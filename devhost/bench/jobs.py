"""Jobs that wait in the queue: how fast the host works them off, and what each costs it."""

import time
from collections.abc import Callable

from azure.data.tables import TableServiceClient

from devhost.bench.effort import Effort
from devhost.bench.figures import Figure
from devhost.bench.http_load import send
from devhost.bench.measured_stack import run_jobs
from devhost.bench.processes import cpu_seconds
from devhost.bench.requests import webhook
from devhost.stack import Part, Stack

_LOOK_SECONDS = 0.25
_LONGEST_SECONDS = 120.0


def run(stack: Stack, effort: Effort) -> list[Figure]:
    """Webhooks are accepted while no job runs, then the jobs run. What `webhooks` left counts with them."""
    with TableServiceClient.from_connection_string(stack.storage) as service:
        table = service.get_table_client("open")

        def waiting() -> int:
            return sum(1 for _ in table.list_entities(select=["PartitionKey"]))

        missing = max(0, effort.warm_jobs + effort.jobs - waiting())
        send(stack.url, missing, effort.at_once, webhook(stack, "note.created"))
        first = waiting()
        run_jobs(stack)
        warm = _wait(waiting, first - effort.warm_jobs)
        pid = stack.pid(Part.HOST)
        begun, cpu = time.perf_counter(), cpu_seconds(pid)
        done = warm - _wait(waiting, max(0, warm - effort.jobs))
        seconds, later = time.perf_counter() - begun, cpu_seconds(pid)
    rows = [Figure("jobs finished", done / seconds, "per second", f"{done} summaries of 3 KiB of text")]
    if cpu is not None and later is not None:
        rows.append(Figure("CPU of the host, a finished job", (later - cpu) * 1000 / done, "ms each"))
    return rows


def _wait(waiting: Callable[[], int], most: int) -> int:
    """Until no more than `most` jobs are open; how many are. Raises RuntimeError if that takes too long."""
    until = time.monotonic() + _LONGEST_SECONDS
    while (found := waiting()) > most:
        if time.monotonic() > until:
            raise RuntimeError(f"{found} jobs are still open after {_LONGEST_SECONDS:.0f} s.")
        time.sleep(_LOOK_SECONDS)
    return found
