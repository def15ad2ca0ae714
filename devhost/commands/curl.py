"""A signed webhook as shell text: the signature is computed by `openssl`, as a person would check it."""

import json
import shlex
from collections.abc import Mapping, Sequence

from devhost.credentials import Source

EVENT = "repository_dispatch"
DOCUMENT = "inputs/documents/harbour-plan.pdf"
_EVENT_BODY = {"action": "summarize", "client_payload": {"document": DOCUMENT}, "sender": {"id": 204}}


def ready_curl(url: str, sources: Sequence[Source], secrets: Mapping[str, str]) -> str | None:
    """Shell lines that send a GitHub-signed event; None without a source of that scheme."""
    source = next(
        (source for source in sources if source.scheme == "github" and source.name in secrets), None
    )
    if source is None:
        return None
    body = json.dumps(_EVENT_BODY, separators=(",", ":"))
    return github_curl(f"{url}/api/webhooks/{source.name}", secrets[source.name], EVENT, body)


def variables(url: str, key: str, secrets: Mapping[str, str], storage: str) -> list[str]:
    """Shell lines that set the names of the README's examples."""
    lines = [f"url={shlex.quote(url)}", f"key={shlex.quote(key)}"]
    if "github" in secrets:
        lines.append(f"secret={shlex.quote(secrets['github'])}")
    return [*lines, f"export storage={shlex.quote(storage)}"]


def github_curl(address: str, secret: str, event: str, body: str) -> str:
    """Shell lines for one GitHub event with this body."""
    return "\n".join(
        [
            f"body={shlex.quote(body)}",
            f"secret={shlex.quote(secret)}",
            "signature=$(printf '%s' \"$body\" | openssl dgst -sha256 -hmac \"$secret\" | sed 's/^.* //')",
            f"curl -sS -i {shlex.quote(address)} \\",
            "  -H 'Content-Type: application/json' \\",
            f"  -H 'X-GitHub-Event: {event}' \\",
            '  -H "X-GitHub-Delivery: delivery-$(date +%s)" \\',
            '  -H "X-Hub-Signature-256: sha256=$signature" \\',
            '  --data-binary "$body"',
        ]
    )
