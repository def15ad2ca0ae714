"""The ready curl."""

import hashlib
import hmac
import shutil
import subprocess

import pytest

from devhost.commands.curl import github_curl, ready_curl, variables
from devhost.credentials import Source

BODY = '{"text":"it\'s $HOME and `date`"}'
SECRET = "a'b$c"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl program")
def test_the_signature_computed_by_openssl_is_githubs() -> None:
    script = github_curl("http://127.0.0.1:1/api/webhooks/github", SECRET, "ping", BODY)
    script = script.replace("curl -sS -i", "printf '%s\\n'")
    printed = subprocess.run(
        ["bash", "-euc", script], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    expected = hmac.new(SECRET.encode(), BODY.encode(), hashlib.sha256).hexdigest()
    assert f"X-Hub-Signature-256: sha256={expected}" in printed
    assert BODY in printed


def test_there_is_no_curl_without_a_github_source() -> None:
    assert ready_curl("http://x", [Source("crm", "standard", ("S",))], {"crm": "s"}) is None


def test_the_variables_are_what_was_given_whatever_is_in_them() -> None:
    lines = variables("http://x", "k'e$y", {"github": SECRET, "crm": "s"}, "A=b;C=d;")
    script = "\n".join([*lines, 'printf \'%s|\' "$url" "$key" "$secret"; sh -c \'printf %s "$storage"\''])
    shown = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=True).stdout
    assert shown == f"http://x|k'e$y|{SECRET}|A=b;C=d;"
