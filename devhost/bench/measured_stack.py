"""A local stack that runs the application and, in the same host, a function that does nothing."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devhost import paths
from devhost.bench.large_requests import ROUTES
from devhost.credentials import write_private
from devhost.local_settings import settings_document
from devhost.provision import provision
from devhost.stack import Part, Stack, StackOptions

_FUNCTIONS = paths.ROOT / "devhost" / "bench" / "app" / "function_app.py"
_WORKER_OFF = "AzureWebJobs.run_job.Disabled"
_SETTINGS = {
    _WORKER_OFF: "1",
    "SWEEP_GRACE_SECONDS": "3600",  # jobs wait on purpose: nothing shall nudge them
}


@contextmanager
def measured_stack() -> Iterator[Stack]:
    """A stack of its own, with data of its own; both are gone at the end. Jobs wait until `run_jobs`."""
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder, "app")
        app.mkdir()
        shutil.copy(_FUNCTIONS, app)
        shutil.copy(paths.ROOT / "host.json", app)
        pipeline = Path(folder, "pipeline.toml")
        pipeline.write_text(Path(paths.ROOT, "pipeline.toml").read_text("utf-8") + ROUTES, encoding="utf-8")
        options = StackOptions(
            state=Path(folder, "state"), app=app, pipeline=pipeline, extra_settings=_SETTINGS
        )
        with Stack(options) as stack:
            provision(stack.storage)
            yield stack


def run_jobs(stack: Stack) -> None:
    """Start the host again, with the function that runs the jobs."""
    stack.end(Part.HOST)
    values = {name: value for name, value in stack.values.items() if name != _WORKER_OFF}
    write_private(stack.options.state / "settings.json", settings_document(values))
    stack.resume(Part.HOST)
