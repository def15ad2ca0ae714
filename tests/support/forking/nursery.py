"""The process that has imported a part and becomes it again and again. Standard library only.

`python -m tests.support.forking.nursery DESCRIPTOR MODULE...` imports the modules, then takes orders from the
socket: a JSON document, with the new process's standard input, output and error. To each it answers with the
process's id once that is a child of the process at the other end, which must be a subreaper meanwhile.
"""

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import threading
from typing import Any

LONGEST_ORDER = 1_000_000
"""Bytes of an order; an environment is most of it."""


def main() -> None:
    """Serve; in a forked process, be the module that was ordered."""
    control = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        importlib.import_module(name)
    assert threading.active_count() == 1, "a thread would not be there after a fork"
    gc.collect()
    gc.freeze()  # the collector would copy every page it looks at
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the tests
    order = _serve(control)
    if order is not None:
        control.close()
        _become(order)


def _serve(control: socket.socket) -> dict[str, Any] | None:
    """Answer orders until there is nobody to give them (None); in a new process, what it is to be."""
    while True:
        told, descriptors, _, _ = socket.recv_fds(control, LONGEST_ORDER, 3)
        if not told:
            return None
        answer, say = os.pipe()
        between = os.fork()
        if between == 0:
            if (pid := os.fork()) != 0:  # the new process is an orphan at once, and goes to the subreaper
                os.write(say, str(pid).encode())
                os._exit(0)
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
            _close(*descriptors, answer, say)
            return dict(json.loads(told))
        os.waitpid(between, 0)
        control.send(os.read(answer, 100))
        _close(*descriptors, answer, say)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _become(order: dict[str, Any]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if order["new_session"]:
        os.setsid()
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.path[0] = order["cwd"]
    sys.argv = ["-m", *order["arguments"]]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
