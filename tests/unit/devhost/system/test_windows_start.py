"""Broker and host start, serve and end in order by the code for Windows, as far as that can run here."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from devhost import paths
from tests.support.http import request

AS_ON_WINDOWS = """
import runpy, sys
import devhost.system
from devhost.system.windows import Windows
devhost.system.SYSTEM = Windows()
module, *sys.argv[1:] = sys.argv[1:]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
APP = """
import azure.functions as func
app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)

@app.route("hello")
def hello(req: func.HttpRequest) -> str:
    return "hello"
"""


def start(arguments: Sequence[object]) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    process = subprocess.Popen(
        [sys.executable, "-c", AS_ON_WINDOWS, *map(str, arguments)],
        cwd=paths.ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


@pytest.mark.parametrize("number", [signal.SIGINT, 21], ids=["Ctrl-C", "Ctrl-Break"])
def test_the_broker_ends_in_order_by_console_events(tmp_path: Path, number: int) -> None:
    arguments = ["devhost.servicebus", "--config", paths.QUEUE_CONFIG, "--data", tmp_path, "--port", 0]
    process, ready = start(arguments)
    with process:
        assert ready["connection_string"].startswith("Endpoint=sb://127.0.0.1:")
        process.send_signal(number)
        assert process.wait(60) == 0


def test_the_host_serves_and_ends_in_order_by_a_console_event(tmp_path: Path) -> None:
    (tmp_path / "function_app.py").write_text(APP)
    (tmp_path / "host.json").write_text('{"version": "2.0"}')
    process, ready = start(["devhost.functions", "--app", tmp_path, "--port", 0])
    with process:
        assert request("GET", f"{ready['url']}/api/hello") == (200, b"hello")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
