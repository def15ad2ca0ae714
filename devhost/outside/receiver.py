"""A receiver of JSON posts: stands for the chat that alerts go to, and for callbacks."""

import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

_LIMIT = 1024 * 1024


class Receiver:
    """Listens on a free port of this machine and keeps what is posted; a context manager."""

    def __init__(self) -> None:
        self._posts: queue.Queue[Any] = queue.Queue()
        posts = self._posts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = min(int(self.headers.get("Content-Length", "0")), _LIMIT)
                posts.put(json.loads(self.rfile.read(length)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
                """Say nothing: the tour prints what matters."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/alerts"

    def next_post(self, timeout: float) -> Any:
        """The next post's JSON; raises queue.Empty after `timeout` seconds."""
        return self._posts.get(timeout=timeout)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
