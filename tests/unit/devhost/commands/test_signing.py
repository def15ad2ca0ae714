"""What `send` and `sign` make of their options, and what they refuse."""

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Self

import pytest

from devhost.commands import send, sign
from devhost.commands.signing import RequestError, SignedRequest, parse, signed_request
from devhost.credentials import PipelineReadError
from devhost.local_settings import SettingsFileError
from devhost.ports import LOOPBACK
from devhost.senders import github
from tests.support.lossy import refusing

PIPELINE = """
[sources.github]
scheme = "github"
secrets = ["GITHUB_WEBHOOK_SECRET", "GITHUB_WEBHOOK_SECRET_OLD"]

[sources.fal]
scheme = "fal"

[sources.notes]
scheme = "standard"
secrets = ["NOTES_SECRET"]
"""
SECRET = "an invented secret of the tests"
BODY = b'{"text": "it\'s $HOME\\u0000"}\r\n'
URL = "https://hooks.example.com/"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pipeline.toml").write_text(PIPELINE)
    values = {"GITHUB_WEBHOOK_SECRET": SECRET, "NOTES_SECRET": "change-me-to-a-secret"}
    (tmp_path / "mine.json").write_text(json.dumps({"Values": values}))
    (tmp_path / "body.json").write_bytes(BODY)
    return tmp_path


def given(folder: Path, source: str = "github", *more: str, file: str = "body.json") -> list[str]:
    name = file if file == "-" else str(folder / file)
    pipeline, settings = str(folder / "pipeline.toml"), str(folder / "mine.json")
    return [source, name, "--pipeline", pipeline, "--settings", settings, "--url", URL, *more]


def made(arguments: Sequence[str]) -> SignedRequest:
    return signed_request(parse("send", "Tries.", arguments))


def test_the_bytes_of_the_file_are_signed_with_the_current_secret_of_the_settings(folder: Path) -> None:
    request = made(given(folder, "github", "--event", "issues"))
    assert request.address == "https://hooks.example.com/api/webhooks/github"
    assert request.body == BODY
    assert request.headers["x-hub-signature-256"] == github.signature(BODY, SECRET)
    assert request.headers["x-github-event"] == "issues"


def test_a_dash_is_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00")))
    assert made(given(folder, file="-")).body == b"\xff\x00"


def test_the_pipeline_of_the_settings_is_taken_where_none_is_named(folder: Path) -> None:
    values = {"GITHUB_WEBHOOK_SECRET": SECRET, "AFTERHOOK_PIPELINE": str(folder / "pipeline.toml")}
    (folder / "settings.json").write_text(json.dumps({"Values": values}))
    options = ["github", str(folder / "body.json"), "--state", str(folder), "--url", URL]
    assert made(options).headers["x-hub-signature-256"] == github.signature(BODY, SECRET)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gitlab"], r"no source 'gitlab'\. Its sources: fal, github, notes\."),
        (["fal"], "private key of its own"),
        (["notes"], r"NOTES_SECRET still holds the sample's placeholder\. Put it into .*mine\.json"),
        (["notes", "--event", "note"], "type into the body"),
        (["github", "--url", "ftp://example.com"], "expected the app's address"),
        (["github", "--url", "http://example.com:99999"], "expected the app's address"),
        (["github", "--url", "https://user@example.com"], "expected the app's address"),
        (["github", "--url", "https://example.com/?a=b"], "expected the app's address"),
    ],
)
def test_what_cannot_be_signed_is_a_sentence(folder: Path, arguments: list[str], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        made(given(folder, *arguments))


def test_a_file_that_is_not_there_is_a_sentence(folder: Path) -> None:
    with pytest.raises(RequestError, match=r"none\.json cannot be read: No such file"):
        made(given(folder, file="none.json"))


def test_a_missing_pipeline_or_settings_file_is_a_sentence(folder: Path) -> None:
    with pytest.raises(PipelineReadError, match=r"none\.toml cannot be read"):
        made(given(folder, "github", "--pipeline", str(folder / "none.toml")))
    with pytest.raises(SettingsFileError, match=r"none\.json cannot be read"):
        made(given(folder, "github", "--settings", str(folder / "none.json")))


def test_a_stack_that_never_ran_has_no_secrets(folder: Path) -> None:
    with pytest.raises(RequestError, match=r"settings\.json is not there.*--settings FILE"):
        made(["github", str(folder / "body.json"), "--state", str(folder / "new"), "--url", URL])


def test_a_source_that_the_running_stack_does_not_know_needs_a_restart(folder: Path) -> None:
    (folder / "settings.json").write_text('{"Values": {}}')
    pipeline = str(folder / "pipeline.toml")
    options = ["github", str(folder / "body.json"), "--state", str(folder), "--url", URL]
    with pytest.raises(RequestError, match=r"GITHUB_WEBHOOK_SECRET has no secret\. Start `dev\.py up` again"):
        made([*options, "--pipeline", pipeline])


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs the curl program")
@pytest.mark.parametrize("name", ["body.json", "it's $x `y`\n.json", "-"])
def test_the_printed_curl_sends_the_same_request_from_any_shell(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if name != "-":
        (folder / name).write_bytes(BODY)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BODY)))
    with _Recorder() as recorder:
        arguments = given(folder, "github", "--url", recorder.url, file=name)
        assert sign.main(arguments) == 0
        script = capsys.readouterr().out
        environment = {**os.environ, "no_proxy": "*"}
        subprocess.run(["sh", "-euc", script], input=BODY, env=environment, check=True, capture_output=True)
    assert recorder.body == BODY
    assert recorder.path == "/api/webhooks/github"
    expected = made(given(folder)).headers
    assert {name: recorder.headers[name] for name in expected} == dict(expected)


@pytest.mark.parametrize(("status", "code"), [(202, 0), (200, 0), (404, 1), (503, 1), (302, 1)])
def test_the_answer_is_shown_and_only_2xx_is_success(
    folder: Path, capsys: pytest.CaptureFixture[str], status: int, code: int
) -> None:
    with _Recorder(status) as recorder:
        assert send.main(given(folder, "github", "--url", recorder.url)) == code
    assert recorder.body == BODY
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{status} ")
    assert first.endswith(" ms")
    assert second == "the answer"


def test_a_refused_connection_is_a_sentence(folder: Path) -> None:
    with refusing() as port, pytest.raises(RequestError, match=r"Nothing listens at .*python3 dev\.py up"):
        send.main(given(folder, "github", "--url", f"http://{LOOPBACK}:{port}"))


def test_a_connection_that_is_cut_is_a_sentence(folder: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as server:

        def cut() -> None:
            server.accept()[0].close()

        thread = threading.Thread(target=cut)
        thread.start()
        with pytest.raises(RequestError, match="gave no answer"):
            send.main(given(folder, "github", "--url", f"http://{LOOPBACK}:{server.getsockname()[1]}"))
        thread.join()


class _Recorder:
    """A server that keeps the last request and answers with `status`."""

    def __init__(self, status: int = 202) -> None:
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                recorder.path = self.path
                recorder.headers = {name.lower(): value for name, value in self.headers.items()}
                recorder.body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(status)
                self.send_header("Content-Length", "10")
                self.end_headers()
                self.wfile.write(b"the answer")

            def log_message(self, *given: object) -> None:
                pass

        self.path, self.body = "", b""
        self.headers: dict[str, str] = {}
        self._server = HTTPServer((LOOPBACK, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.url = f"http://{LOOPBACK}:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
