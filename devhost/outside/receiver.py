"""A receiver of posts, as a chat's incoming webhook would be."""

import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from devhost.ports import LOOPBACK


class Receiver:
    """Listens on loopback while used as a context manager; keeps the bodies it was sent."""

    def __init__(self) -> None:
        """Listen on a free port."""
        received: queue.SimpleQueue[str] = queue.SimpleQueue()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                received.put(self.rfile.read(length).decode(errors="replace"))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                """Say nothing on the console."""

        self._received = received
        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://{LOOPBACK}:{self._server.server_address[1]}/alerts"

    def next(self, timeout: float) -> str | None:
        """The next body received, or None after `timeout` seconds."""
        try:
            return self._received.get(timeout=timeout)
        except queue.Empty:
            return None

    def __enter__(self) -> Self:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
