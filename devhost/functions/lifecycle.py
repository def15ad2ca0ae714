"""From start to drained: load the app, start every listener, say so, and stop in order at SIGTERM."""

import asyncio
import importlib
import json
import os
import sys
from typing import TextIO

from devhost.functions.cors import read_cors
from devhost.functions.definitions import FunctionDefinition
from devhost.functions.discovery import load_functions, without_disabled
from devhost.functions.errors import StartError
from devhost.functions.hostjson import HostConfig, plan_of, read_host_json
from devhost.functions.http_routing import Router
from devhost.functions.http_server import DEFAULT_BODY_LIMIT, HttpFront
from devhost.functions.invocation import Invoker
from devhost.functions.keys import AccessKeys, generate_keys, read_keys
from devhost.functions.listeners import Listener, make_listeners
from devhost.functions.log import configure_logging, host_log
from devhost.functions.options import Options
from devhost.functions.platform_settings import check_platform_settings
from devhost.functions.settings import AppSettings, read_values
from devhost.functions.worker.choice import make_worker
from devhost.system import SYSTEM

START_FAILED = 1
_CLOSE_SECONDS = 5.0


async def run(options: Options, ready: TextIO, keys: AccessKeys | None = None) -> int:
    """Run the host until SIGTERM or SIGINT; returns the exit code. Start errors go to the log."""
    try:
        return await _serve(options, ready, keys)
    except StartError as error:
        for problem in error.problems:
            host_log.error("event=start_failed %s", problem, exc_info=error.__cause__)
        return START_FAILED


async def _serve(options: Options, ready: TextIO, given_keys: AccessKeys | None) -> int:
    config, settings = _configure(options)
    _install_plugins(options.plugins)
    worker = make_worker(options.worker)
    functions = without_disabled(await load_functions(worker, options.app, settings), settings)
    keys = given_keys or _keys(options, functions)
    invoker = Invoker(config.function_timeout, worker)
    front = HttpFront(
        Router(functions, config.route_prefix),
        keys,
        invoker,
        body_limit=_body_limit(settings),
        answer_seconds=options.answer_seconds,
        cors=read_cors(options.settings) if options.settings else None,
    )
    listeners = make_listeners(
        functions, config=config, settings=settings, invoker=invoker, state=options.state
    )
    stop = _stop_event()
    try:
        port = await front.start(options.port)
    except OSError as error:
        raise StartError(f"port {options.port} cannot be used: {error.strerror}") from None
    await asyncio.gather(*(listener.start() for listener in listeners))
    _say_ready(ready, port, functions, None if options.keys else keys)
    await stop.wait()
    host_log.info("event=stopping running=%d grace_s=%g", invoker.running, options.grace_seconds)
    await front.stop_accepting()
    for listener in listeners:
        listener.stop()
    try:
        drained = asyncio.gather(invoker.wait_idle(), *(listener.drain() for listener in listeners))
        await asyncio.wait_for(drained, options.grace_seconds)
    except TimeoutError:
        host_log.error("event=cut_off running=%d", invoker.running)
    await _close(front, listeners)
    host_log.info("event=stopped")
    return 0


async def _close(front: HttpFront, listeners: list[Listener]) -> None:
    closing = asyncio.gather(front.close(), *(listener.close() for listener in listeners))
    try:
        await asyncio.wait_for(closing, _CLOSE_SECONDS)
    except TimeoutError:
        host_log.warning("event=close_timeout")


def _configure(options: Options) -> tuple[HostConfig, AppSettings]:
    if options.settings is not None:
        os.environ.update(read_values(options.settings))
    config = read_host_json(options.host_json, plan_of(os.environ))
    configure_logging(config.log_level)
    os.chdir(options.app)
    settings = AppSettings(os.environ)
    check_platform_settings(settings)
    return config, settings


def _install_plugins(plugins: tuple[str, ...]) -> None:
    for name in plugins:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise StartError(f"--plugin {name}: {error}") from error
        install = getattr(module, "install", None)
        if install is not None:
            install()


def _keys(options: Options, functions: list[FunctionDefinition]) -> AccessKeys:
    return read_keys(options.keys) if options.keys else generate_keys(f.name for f in functions)


def _body_limit(settings: AppSettings) -> int:
    given = settings.get("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT") or str(DEFAULT_BODY_LIMIT)
    if not (given.isascii() and given.isdecimal() and int(given)):
        raise StartError(
            f"app setting FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: expected a number of bytes, found {given!r}"
        )
    return int(given)


def _stop_event() -> asyncio.Event:
    """Set when the host is first asked to end; a second one ends the process at once."""
    stop = asyncio.Event()

    def on_signal() -> None:
        if stop.is_set():
            host_log.error("event=stopped_at_once")
            sys.stderr.flush()
            os._exit(130)
        stop.set()

    SYSTEM.on_stop(asyncio.get_running_loop(), on_signal)
    return stop


def _say_ready(
    ready: TextIO, port: int, functions: list[FunctionDefinition], keys: AccessKeys | None
) -> None:
    host_log.info("event=started port=%d functions=%s", port, ",".join(f.name for f in functions))
    line: dict[str, object] = {"url": f"http://127.0.0.1:{port}", "port": port, "pid": os.getpid()}
    if keys is not None:
        line["keys"] = keys.as_dict()
    ready.write(json.dumps(line) + "\n")
    ready.flush()
