"""What of a function's HTTP answer goes out, byte for byte, and what HTTP cannot carry."""

import json
from collections.abc import Iterator

import pytest

from tests.host.harness import HostProcess, write_app

pytestmark = pytest.mark.host

APP = """
import json

@app.route(route="bytes")
def answer_bytes(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(bytes(range(256)), mimetype="application/octet-stream")

@app.route(route="umlaut")
def umlaut(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("Zoë", mimetype="text/html", charset="latin-1")

@app.route(route="json")
def answer_json(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse('{"a": 1}', headers={"Content-Type": "application/problem+json"})

@app.route(route="status/{code:int}")
def status(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(status_code=int(req.route_params["code"]))

@app.route(route="full/{code:int}")
def full(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("body-marker", status_code=int(req.route_params["code"]))

@app.route(route="broken-header")
def broken_header(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("x", headers={"X-Split": "a\\r\\nSet-Cookie: stolen=1"})

@app.route(route="lies")
def lies(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("four", headers={"Content-Length": "99", "Transfer-Encoding": "chunked"})

@app.route(route="number")
def number(req: func.HttpRequest):
    return 7

@app.route(route="redirect")
def redirect(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(status_code=302, headers={"Location": "https://example.org/"})

@app.route(route="form", methods=["POST"])
def form(req: func.HttpRequest) -> func.HttpResponse:
    files = {name: [file.filename, file.read().decode()] for name, file in req.files.items()}
    return func.HttpResponse(json.dumps([req.form.to_dict(flat=False), files]))

@app.route(route="read-json", methods=["POST"])
def read_json(req: func.HttpRequest) -> func.HttpResponse:
    try:
        return func.HttpResponse(json.dumps(req.get_json()))
    except ValueError as error:
        return func.HttpResponse(type(error).__name__, status_code=400)
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    with HostProcess(write_app(tmp_path_factory.mktemp("answers"), APP)) as running:
        yield running


def test_bytes_go_out_as_they_are(host: HostProcess) -> None:
    answer = host.request("GET", "/api/bytes")
    assert answer.body == bytes(range(256))
    assert answer.header("Content-Type") == "application/octet-stream"
    assert answer.header("Content-Length") == "256"


def test_text_is_encoded_in_its_charset(host: HostProcess) -> None:
    assert host.request("GET", "/api/umlaut").body == "Zoë".encode("latin-1")


def test_a_content_type_among_the_headers_wins(host: HostProcess) -> None:
    assert host.request("GET", "/api/json").header("Content-Type") == "application/problem+json"


@pytest.mark.parametrize("code", [200, 201, 202, 204, 304, 400, 404, 418, 429, 500, 503, 599])
def test_a_status_without_a_body_goes_out(host: HostProcess, code: int) -> None:
    answer = host.request("GET", f"/api/status/{code}")
    assert (answer.status, answer.body) == (code, b"")


@pytest.mark.parametrize("code", [0, 99, 100, 101, 199, 600, 1000])
def test_a_status_that_is_none_of_an_answer_is_500(host: HostProcess, code: int) -> None:
    assert host.request("GET", f"/api/status/{code}").status == 500


@pytest.mark.parametrize("code", [204, 205, 304])
def test_a_body_with_a_status_that_has_none_is_500(host: HostProcess, code: int) -> None:
    answer = host.request("GET", f"/api/full/{code}")
    assert (answer.status, answer.body) == (500, b"")
    assert f"an answer with status {code} has no body" in host.wait_for_log("event=bad_result function=full")
    assert "body-marker" not in host.log()


def test_a_header_cannot_smuggle_another(host: HostProcess) -> None:
    answer = host.request("GET", "/api/broken-header")
    assert answer.status == 500
    assert answer.header("Set-Cookie") is None


def test_the_host_frames_the_body_whatever_the_function_says(host: HostProcess) -> None:
    answer = host.request("GET", "/api/lies")
    assert (answer.body, answer.header("Content-Length")) == (b"four", "4")
    assert answer.header("Transfer-Encoding") is None


def test_a_result_of_another_type_is_500(host: HostProcess) -> None:
    assert host.request("GET", "/api/number").status == 500


def test_a_redirect_is_passed_on(host: HostProcess) -> None:
    answer = host.request("GET", "/api/redirect")
    assert (answer.status, answer.header("Location")) == (302, "https://example.org/")


def test_a_head_request_gets_the_headers_of_the_body_it_does_not_get(host: HostProcess) -> None:
    answer = host.request("HEAD", "/api/bytes")
    assert (answer.body, answer.header("Content-Length")) == (b"", "256")


def test_a_url_encoded_form_is_read(host: HostProcess) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = host.request("POST", "/api/form", b"a=1&a=2&b=&c=x+y", headers)
    assert answer.json() == [{"a": ["1", "2"], "b": [""], "c": ["x y"]}, {}]


def test_a_form_with_files_is_read(host: HostProcess) -> None:
    body = (
        b'--cut\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n'
        b'--cut\r\nContent-Disposition: form-data; name="paper"; filename="p.txt"\r\n\r\n'
        b"inside\r\n--cut--\r\n"
    )
    answer = host.request("POST", "/api/form", body, {"Content-Type": "multipart/form-data; boundary=cut"})
    assert answer.json() == [{"note": ["hello"]}, {"paper": ["p.txt", "inside"]}]


def test_json_is_read_and_what_is_none_raises(host: HostProcess) -> None:
    assert host.request("POST", "/api/read-json", json.dumps({"é": 1})).json() == {"é": 1}
    assert host.request("POST", "/api/read-json", b"{").status == 400
    assert host.request("POST", "/api/read-json", b"\xff").status == 400
    assert host.request("POST", "/api/read-json", b"").status == 400
