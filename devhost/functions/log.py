"""Log lines on standard error: `<time> level=.. logger=.. <message>`. Never queries, headers or bodies."""

import logging
import sys
import time

_QUIET = ("azure", "aiohttp", "asyncio", "uamqp")


class _Formatter(logging.Formatter):
    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__(
            "%(asctime)s.%(msecs)03dZ level=%(levelname)s logger=%(name)s %(message)s", "%Y-%m-%dT%H:%M:%S"
        )


def configure_logging(level: str) -> None:
    """Send what the host and the app log to standard error; the SDKs' own chatter only from WARNING on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


host_log = logging.getLogger("host")
