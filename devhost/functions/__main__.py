"""`python -m devhost.functions --app DIR`: run an app on the local Functions host."""

import asyncio
import os
import sys

from devhost.functions.lifecycle import run
from devhost.functions.log import configure_logging
from devhost.functions.options import parse_options


def main() -> None:
    """Run until told to stop. Standard output carries the ready line only; the app prints to the log."""
    ready, sys.stdout = sys.stdout, sys.stderr
    configure_logging("INFO")
    code = asyncio.run(run(parse_options(), ready))
    # A sync function cut off by the grace period still holds its thread; waiting for it would never end.
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
