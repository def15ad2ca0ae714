"""`dev.py up`: the local stack, until Ctrl-C."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from devhost import paths, stand_ins
from devhost.azurite import install
from devhost.commands.curl import ready_curl, variables
from devhost.commands.running import noted
from devhost.configuration_check import check_configuration
from devhost.ports import is_free
from devhost.progress import say, step
from devhost.provision import provision
from devhost.stack import Part, Stack, StackOptions
from devhost.stack_options import AZURE_PARTS
from devhost.system import SYSTEM
from devhost.tour.client import Client, TourError

_HIGHEST_PORT = 65_535


def main(arguments: Sequence[str]) -> int:
    """Start the stack, say where it is, and keep it running."""
    options = _parse(arguments)
    if options.port is not None and not is_free(options.port):
        say(f"Port {options.port} is taken by another program. Choose another with --port, or leave it out.")
        return 1
    install.ensure(paths.AZURITE_HOME)
    app = options.app.resolve()
    is_ours = app == paths.ROOT
    stack = Stack(
        StackOptions(
            state=options.state.resolve(),
            app=app,
            check=check_configuration if is_ours else None,
            pipeline=options.pipeline.resolve(),
            settings=options.settings.resolve() if options.settings else None,
            http_port=options.port,
            failpoints=options.failpoints,
            parts=AZURE_PARTS | {Part.OUTSIDE} if options.outside else AZURE_PARTS,
            outside=stand_ins.ADDRESSES if options.outside else {},
            extra_settings=stand_ins.SETTINGS if options.outside else {},
        )
    )
    try:
        with step("Starting the local stack"):
            stack.start()
            trouble = _prepare(stack) if is_ours else None
        if trouble:
            say(f"{trouble} The host's log: {stack.log(Part.HOST)}")
        with noted(stack.options.state, stack.url):
            _announce(stack, as_json=options.json)
            SYSTEM.wait_for_stop()
    except KeyboardInterrupt:
        say("Stopping: running work is finished first. Ctrl-C again ends it at once.")
        return 0
    finally:
        stack.stop()


def _prepare(stack: Stack) -> str | None:
    """Leave nothing of the app's start to the first webhook; what is wrong, if something is."""
    provision(stack.storage)
    try:
        health = Client(stack.url, stack.operator_key).get("/api/health")
    except TourError as failure:
        return f"The app is not healthy: {failure}."
    return None if health.code == 200 else f"The app is not healthy: GET /api/health answered {health.code}."


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="dev.py up",
        description="Runs Azurite, the local Service Bus broker and the local Functions host until Ctrl-C.",
    )
    parser.add_argument(
        "--json", action="store_true", help="when ready, print one line of JSON on standard output"
    )
    parser.add_argument(
        "--pipeline", type=Path, default=paths.PIPELINE, metavar="FILE", help="another pipeline.toml"
    )
    parser.add_argument(
        "--settings", type=Path, metavar="FILE", help="settings laid over local.settings.sample.json"
    )
    parser.add_argument(
        "--state", type=Path, default=paths.DEFAULT_STATE, metavar="DIR", help="where data is kept"
    )
    parser.add_argument(
        "--app", type=Path, default=paths.ROOT, metavar="DIR", help="another function_app.py's folder"
    )
    parser.add_argument("--port", type=_port, metavar="N", help="the HTTP port (default: a free one)")
    parser.add_argument(
        "--outside",
        action="store_true",
        help="stand-ins for model, video and message providers too, and the app's settings for them",
    )
    parser.add_argument(
        "--failpoints",
        action="store_true",
        help="load the fault tools; their folder is failpoints/ under --state",
    )
    return parser.parse_args(arguments)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _HIGHEST_PORT):
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {_HIGHEST_PORT}, found {text!r}")
    return int(text)


def _announce(stack: Stack, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(description(stack)), flush=True)
        return
    lines = [
        f"URL           {stack.url}",
        f"Webhooks      {stack.url}/api/webhooks/<source>   ({', '.join(s.name for s in stack.sources)})",
        f"Health        {stack.url}/api/health",
        f"Operator key  {stack.operator_key}   (header x-functions-key)",
        f"Service Bus   {stack.servicebus}",
        f"Storage       {stack.storage}",
        f"Logs          {stack.log(Part.HOST).parent}",
    ]
    if Part.OUTSIDE in stack.options.parts:
        lines.append(f"Outside       {stack.outside.url}   (what happened there: /control/effects)")
    lines += [f"Secret of {name}: {secret}" for name, secret in stack.secrets.items()]
    lines += [
        f"Setting {setting} of {source.name}: {stack.values[setting]}"
        for source in stack.sources
        for setting in source.further_settings
    ]
    lines += [
        "",
        "As shell variables:",
        "",
        *variables(stack.url, stack.operator_key, stack.secrets, stack.storage),
    ]
    example = ready_curl(stack.url, stack.sources, stack.secrets)
    if example:
        lines += ["", "Try it, in another terminal:", "", example]
    sys.stdout.write("\n".join([*lines, "", "Ctrl-C ends it."]) + "\n")
    sys.stdout.flush()


def description(stack: Stack) -> dict[str, object]:
    """What `up --json` prints."""
    outside = {"outside": stack.outside.url} if Part.OUTSIDE in stack.options.parts else {}
    return {
        "url": stack.url,
        "operator_key": stack.operator_key,
        "servicebus": stack.servicebus,
        "storage": stack.storage,
        "secrets": stack.secrets,
        "pids": stack.pids,
        **outside,
    }
