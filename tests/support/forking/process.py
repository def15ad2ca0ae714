"""Starts a part of the local stack by a fork where that can be, else as `subprocess` does."""

import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from devhost.paths import ROOT
from tests.support.forking.nursery import LONGEST_ORDER

IMPORTED = {
    "devhost.servicebus": (
        "devhost.servicebus.broker",
        "devhost.servicebus.config",
        "devhost.servicebus.server",
    ),
    "devhost.functions": (
        "devhost.functions.lifecycle",
        "devhost.functions.options",
        "devhost.functions.service_bus",
        "devhost.functions.worker.own",
        "devhost.faults.plugin",
        "tests.support.forking.application",
    ),
}
"""What the nursery of each module imports."""

_KEPT = "--restart"
"""A host with it is a small parent that starts the real one itself."""
_OWN_SETTINGS = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
"""The interpreter's settings under which a nursery is as good as a new interpreter."""
_END_SECONDS = 30.0
_SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER in Linux's prctl.h

_forking = [sys.platform == "linux"]


def forbid() -> None:
    """Start every process from scratch from now on."""
    _forking[:] = [False]


def popen(command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """As `subprocess.Popen`: a `ForkedProcess` where the command allows it."""
    if _can_fork(command, options.get("env")):
        return ForkedProcess(command, **options)
    return subprocess.Popen(command, **options)


def run(command: Sequence[str], *, timeout: float, **options: Any) -> "subprocess.CompletedProcess[str]":
    """As `subprocess.run` with captured text and no check."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with popen(command, **pipes, **options) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _can_fork(command: Sequence[str], environment: dict[str, str] | None) -> bool:
    return (
        _forking[0]
        and list(command[:2]) == [sys.executable, "-m"]
        and command[2] in IMPORTED
        and _KEPT not in command
        and _interpreter(os.environ) == _interpreter(os.environ if environment is None else environment)
    )


def _interpreter(environment: Any) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith("PYTHON") and name not in _OWN_SETTINGS
    }


class ForkedProcess(subprocess.Popen[Any]):
    """`subprocess.Popen` of `[sys.executable, "-m", MODULE, ...]`, forked by the module's nursery."""

    def _execute_child(self, *given: Any, **named: Any) -> None:
        """In place of fork and exec; all else of a Popen needs only the id of a child."""
        options = inspect.signature(subprocess.Popen._execute_child).bind(self, *given, **named).arguments  # type: ignore[attr-defined]  # of CPython's own
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        command, environment = list(options["args"]), options["env"]
        try:
            self.pid = _nursery(command[2]).fork(
                {
                    "module": command[2],
                    "arguments": command[3:],
                    "cwd": str(options["cwd"] or os.getcwd()),  # noqa: PTH109  a text is wanted
                    "environment": dict(os.environ if environment is None else environment),
                    "new_session": bool(options["start_new_session"]),
                },
                [
                    number if options[name] == -1 else options[name]
                    for number, name in enumerate(("p2cread", "c2pwrite", "errwrite"))
                ],
            )
            self._child_created = True
        finally:
            self._close_pipe_fds(*(options[name] for name in pipes))  # type: ignore[attr-defined]  # as above


class Nursery:
    """The tests' end of a nursery; it ends when this process does."""

    def __init__(self, module: str) -> None:
        """Start it; it serves when it has imported what it is to import."""
        self._control, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST_ORDER)
        self._alone = threading.Lock()
        with its:
            command = [sys.executable, "-m", "tests.support.forking.nursery", str(its.fileno())]
            self._process = subprocess.Popen(
                [*command, *IMPORTED[module]], cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[its.fileno()]
            )

    def fork(self, order: dict[str, Any], descriptors: Sequence[int]) -> int:
        """The id of a new child of this process. Raises OSError if there can be none."""
        with self._alone:
            _adopt_orphans(True)
            try:
                socket.send_fds(self._control, [json.dumps(order).encode()], list(descriptors))
                answer = self._control.recv(100)
            finally:
                _adopt_orphans(False)
        if not answer:
            raise OSError(f"the process that imported {order['module']} is gone")
        return int(answer)

    def close(self) -> None:
        """End it."""
        self._control.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _adopt_orphans(wanted: bool) -> None:
    """Whether orphans below this process become its children. For moments only: nobody reaps the others."""
    if _libc().prctl(_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


_nurseries: dict[str, Nursery] = {}
_starting = threading.Lock()


def _nursery(module: str) -> Nursery:
    with _starting:
        if module not in _nurseries:
            _nurseries[module] = Nursery(module)
        return _nurseries[module]


def close_all() -> None:
    """End every nursery; what they forked goes on."""
    with _starting:
        for nursery in _nurseries.values():
            nursery.close()
        _nurseries.clear()
