"""Requests to a real small server."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from devhost.bench.http_load import Request, send
from devhost.ports import LOOPBACK


class Server(ThreadingHTTPServer):
    """Answers 200 to even numbers and 503 to odd ones; cuts the connection at `/cut`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), Handler)
        self.url = f"http://{LOOPBACK}:{self.server_port}"
        self.bodies: list[bytes] = []
        self.connections: set[tuple[str, int]] = set()
        self.lock = threading.Lock()
        self.meet: threading.Barrier | None = None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        if self.path == "/cut":
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.connections.add(self.client_address)
        if self.server.meet is not None:
            self.server.meet.wait(60)
        self.send_response(503 if int(body) % 2 else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *given: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def numbered(number: int) -> Request:
    return Request("/", {"content-type": "text/plain"}, str(number).encode())


def test_each_request_is_sent_once_timed_and_counted_by_its_status(server: Server) -> None:
    load = send(server.url, 21, 4, numbered)
    assert sorted(server.bodies, key=int) == [str(number).encode() for number in range(21)]
    assert load.statuses == {200: 11, 503: 10}
    assert len(load.milliseconds) == 21
    assert all(0 < taken <= load.seconds * 1000 for taken in load.milliseconds)


def test_one_after_the_other_goes_over_one_kept_connection(server: Server) -> None:
    send(server.url, 5, 1, numbered)
    assert len(server.connections) == 1


def test_as_many_as_asked_for_are_under_way_at_once(server: Server) -> None:
    server.meet = threading.Barrier(3)  # nobody is answered before three have come
    assert send(server.url, 6, 3, numbered).statuses == {200: 3, 503: 3}
    assert len(server.connections) == 3


def test_a_request_without_an_answer_is_an_error_and_not_a_figure(server: Server) -> None:
    with pytest.raises(OSError, match="no answer"):
        send(server.url, 3, 1, lambda _number: Request("/cut", {}, b""))
