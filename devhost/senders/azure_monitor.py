"""Azure Monitor's action groups: https://learn.microsoft.com/azure/azure-monitor/alerts/action-groups

They sign nothing: they show a secret in the address, or a token of Entra ID.
"""

from datetime import datetime

from devhost.senders import JSON, Sent
from devhost.senders.event_grid import shown


def signed(
    body: bytes,
    secret: str,
    *,
    now: datetime,  # noqa: ARG001  nothing is signed
    header: str | None = "x-afterhook-secret",
    query: str | None = None,
) -> Sent:
    """`secret` goes into the field `query`, or into `header`; into `authorization` as a bearer token."""
    proof, text = shown(secret, header=header, query=query)
    return {"content-type": f"{JSON}; charset=utf-8", **proof}, text, body
