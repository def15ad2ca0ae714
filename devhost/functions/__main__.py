"""`python -m devhost.functions --app DIR`: run an app on the local Functions host."""

import asyncio
import os
import sys
from typing import TextIO

from devhost.functions.restarts import KEPT, Keeper, take_lifeline

_RESTART = "--restart"


def main() -> None:
    """Run until told to stop. Standard output carries the ready line only; the app prints to the log."""
    ready = _take_output()
    arguments = sys.argv[1:]
    if _RESTART in arguments and KEPT not in arguments:
        code = _keep(arguments, ready)
    else:
        code = _host(take_lifeline() if KEPT in arguments else None, ready)
    # A sync function cut off by the grace period still holds its thread; waiting for it would never end.
    sys.stderr.flush()
    os._exit(code)


def _take_output() -> TextIO:
    """Standard output, out of reach of the app and of the programs it runs: theirs is the log from now on."""
    ready = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return ready


def _keep(arguments: list[str], ready: TextIO) -> int:
    # The parent runs no function, so it loads none of what functions need.
    import logging

    logging.basicConfig(stream=sys.stderr, format="level=%(levelname)s logger=%(name)s %(message)s")
    return asyncio.run(Keeper(arguments, ready).run())


def _host(keys: object, ready: TextIO) -> int:
    from devhost.functions.keys import parse_keys
    from devhost.functions.lifecycle import run
    from devhost.functions.log import configure_logging
    from devhost.functions.options import parse_options

    configure_logging("INFO")
    return asyncio.run(run(parse_options(), ready, None if keys is None else parse_keys(keys, "the parent")))


if __name__ == "__main__":
    main()
