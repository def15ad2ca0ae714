"""Log lines on standard error: `<time> level=.. logger=.. <message>`. Never queries, headers or bodies."""

import logging
import sys
import time

from aiohttp import ClientError
from aiohttp.http_exceptions import HttpProcessingError, PayloadEncodingError

_OF_THE_CLIENT = (HttpProcessingError, ClientError, PayloadEncodingError, ConnectionError)
_QUIET = ("azure", "aiohttp", "asyncio", "uamqp")


class _Formatter(logging.Formatter):
    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__(
            "%(asctime)s.%(msecs)03dZ level=%(levelname)s logger=%(name)s %(message)s", "%Y-%m-%dT%H:%M:%S"
        )


class _NoQuotes(logging.Filter):
    """The HTTP library quotes what it cannot parse; its words about clients stay out of the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, _OF_THE_CLIENT):
            record.msg, record.args = "event=bad_request error=%s", (type(error).__name__,)
            record.exc_info = record.exc_text = None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def configure_logging(level: str) -> None:
    """Send what the host and the app log to standard error; the SDKs' own chatter only from WARNING on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    server = logging.getLogger("aiohttp.server")
    server.filters[:] = [_NoQuotes()]


host_log = logging.getLogger("host")
