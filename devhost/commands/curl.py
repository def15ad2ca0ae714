"""A signed webhook as shell text: the signature is computed by `openssl`, as a person would check it."""

import shlex
from collections.abc import Mapping, Sequence

from devhost.credentials import Source
from devhost.tour.steps import EVENT, event_body


def ready_curl(url: str, sources: Sequence[Source], secrets: Mapping[str, str], document: str) -> str | None:
    """Shell lines for a GitHub-signed event that names `document`; None without a source of that scheme."""
    source = next(
        (source for source in sources if source.scheme == "github" and source.name in secrets), None
    )
    if source is None:
        return None
    return github_curl(
        f"{url}/api/webhooks/{source.name}", secrets[source.name], EVENT, event_body(document).decode()
    )


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
