"""`dev.py send` and `sign` with the application itself, on a stack that `dev.py up` runs."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from devhost.commands import send, sign
from devhost.commands.running import NotRunningError, url_of
from devhost.local_settings import read_values
from devhost.paths import ROOT
from tests.support.waiting import eventually

pytestmark = pytest.mark.flows

RUN = "import sys; from devhost.commands import run; sys.exit(run(sys.argv[1:]))"
ROUTE = '[[sources.{0}.routes]]\nevent = "*"\ntask = "summarize_document"\n'
SOURCES = {
    "acme": 'scheme = "hmac"\nsecrets = ["ACME_SECRET"]\nheader = "X-Acme"\nkey_encoding = "hex"\n'
    'signed = "{timestamp}.{body}"\ntimestamp_header = "X-Time"\ntype_header = "X-Type"\n',
    "acme64": 'scheme = "hmac"\nsecrets = ["ACME64_SECRET"]\nheader = "X-Acme"\nkey_encoding = "base64"\n',
    "chat": 'scheme = "slack"\nsecrets = ["SLACK_SECRET"]\n',
    "code": 'scheme = "github"\nsecrets = ["GITHUB_SECRET"]\n',
    "grid": 'scheme = "event-grid"\nsecrets = ["GRID_SECRET"]\nsecret_query = "code"\n',
    "monitor": 'scheme = "azure-monitor"\nsecrets = ["MONITOR_SECRET"]\nsecret_header = "x-secret"\n',
    "notes": 'scheme = "standard"\nsecrets = ["NOTES_SECRET"]\n',
    "pay": 'scheme = "stripe"\nsecrets = ["STRIPE_SECRET"]\n',
    "shop": 'scheme = "shopify"\nsecrets = ["SHOP_SECRET"]\n',
    "sms": 'scheme = "twilio"\nsecrets = ["TWILIO_TOKEN"]\n'
    'public_url = "https://hooks.example.com/api/webhooks/sms"\n'
    'accounts = ["AC00000000000000000000000000000000"]\n',
    "sms-rules": 'scheme = "twilio"\npublic_url = "https://hooks.example.com/api/webhooks/sms-rules"\n'
    'accounts = ["AC00000000000000000000000000000000"]\n'
    'shared_keys = { "WK00000000000000000000000000000000" = "TWILIO_SHARED_KEY" }\n',
    "wa": 'scheme = "meta"\nsecrets = ["META_SECRET"]\nverify_token = "META_VERIFY_TOKEN"\n',
}
"""One for each scheme that can be signed here, and for each form of secret."""

GRID_HANDSHAKE = [
    {
        "id": "1",
        "topic": "t",
        "subject": "",
        "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent",
        "eventTime": "2026-01-01T00:00:00Z",
        "data": {"validationCode": "a-code"},
        "dataVersion": "1",
    }
]
SMS = (
    "MessageSid=SM00000000000000000000000000000000&AccountSid=AC00000000000000000000000000000000"
    "&SmsStatus=received&Body=hello"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the stack's state is, in `state`."""
    made = tmp_path_factory.mktemp("send")
    tables = [f"[sources.{name}]\n{table}{ROUTE.format(name)}" for name, table in SOURCES.items()]
    (made / "pipeline.toml").write_text("\n".join([*tables, "[tasks.summarize_document]"]))
    command = [sys.executable, "-c", RUN, "up", "--json", "--state", str(made / "state")]
    with (
        (made / "stderr").open("w") as stderr,
        subprocess.Popen(
            [*command, "--pipeline", str(made / "pipeline.toml")],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=stderr,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), (made / "stderr").read_text()
            yield made
        finally:
            process.terminate()
            process.wait(60)


def arguments(folder: Path, source: str, body: object, *more: str) -> list[str]:
    """A pipeline file or an address is not named: the stack's are taken."""
    file = folder / "body"
    file.write_text(body if isinstance(body, str) else json.dumps(body))
    return [source, str(file), "--state", str(folder / "state"), *more]


def send_until_taken(given: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and what was said; once more where storage was late, as on a busy machine it may be."""
    found: list[tuple[int, str]] = []

    def answered() -> bool:
        found.append((send.main(given), capsys.readouterr().out))
        return not found[-1][1].startswith("503 ")

    eventually(answered, "it is taken or refused")
    return found[-1]


@pytest.mark.parametrize(
    ("source", "body", "more", "answer"),
    [
        ("acme", {"n": 1}, ["--event", "made"], '"duplicate":false'),
        ("acme64", {"n": 1}, [], '"duplicate":false'),
        ("chat", {"type": "url_verification", "challenge": "a-challenge", "token": "t"}, [], "a-challenge"),
        ("code", {"action": "opened"}, ["--event", "issues"], '"duplicate":false'),
        ("grid", GRID_HANDSHAKE, [], '"validationResponse": "a-code"'),
        ("notes", {"type": "note.created", "data": {}}, [], '"duplicate":false'),
        ("pay", {"id": "evt_1", "object": "event", "type": "invoice.paid"}, [], '"duplicate":false'),
        ("shop", {"n": 1}, ["--event", "orders/paid"], '"duplicate":false'),
        ("sms", SMS, [], "<Response/>"),
        ("sms-rules", SMS, [], "<Response/>"),
        ("wa", {"object": "page", "entry": []}, [], '"status":"ignored"'),
    ],
)
def test_what_is_sent_for_a_source_is_taken_there(
    folder: Path, capsys: pytest.CaptureFixture[str], source: str, body: object, more: list[str], answer: str
) -> None:
    code, said = send_until_taken(arguments(folder, source, body, *more), capsys)
    assert code == 0, said
    assert said[:3] in {"200", "202"}
    assert answer in said


def test_a_refused_body_is_shown_with_the_reason_and_is_no_success(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert send.main(arguments(folder, "monitor", "[")) == 1
    said = capsys.readouterr().out
    assert said.startswith("400 ")
    assert "malformed_body" in said


def test_the_same_file_is_the_same_event(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = arguments(folder, "notes", {"type": "note.created", "data": {"twice": True}})
    first, second = (send_until_taken(given, capsys)[1].splitlines()[1] for _ in range(2))
    assert json.loads(second) == {**json.loads(first), "duplicate": True}


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs the curl program")
def test_the_printed_curl_is_taken_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sign.main(arguments(folder, "grid", [{"id": "2", "eventType": "made", "topic": "t"}])) == 0
    script = capsys.readouterr().out
    done = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=True)
    assert " 202 " in done.stdout.splitlines()[0]
    assert '"duplicate":false' in done.stdout


def test_the_handshake_by_get_is_answered_for_the_verify_token_that_was_made(folder: Path) -> None:
    token = read_values(folder / "state" / "settings.json")["META_VERIFY_TOKEN"]
    query = f"hub.mode=subscribe&hub.challenge=a-challenge&hub.verify_token={token}"
    with urlopen(f"{url_of(folder / 'state')}/api/webhooks/wa?{query}", timeout=60) as answer:
        assert answer.read() == b"a-challenge"


def test_without_a_stack_on_the_folder_it_is_said(folder: Path) -> None:
    with pytest.raises(NotRunningError, match=r"python3 dev\.py up"):
        send.main([*arguments(folder, "code", {}), "--state", str(folder / "another")])
