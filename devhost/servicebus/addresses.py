"""Which node an address names: the token node, a queue, or a queue's management node."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

_MANAGEMENT = "/$management"


@dataclass(frozen=True, slots=True)
class CbsNode:
    """Where tokens are put (OASIS AMQP Claims-based Security 1.0)."""


@dataclass(frozen=True, slots=True)
class EntityNode:
    """A queue or dead-letter queue, by its path."""

    path: str


@dataclass(frozen=True, slots=True)
class ManagementNode:
    """The request-response node of the entity at `path`."""

    path: str


Node = CbsNode | EntityNode | ManagementNode


def parse_address(address: str) -> Node:
    """The node an address names; full URIs and relative addresses are both in use."""
    path = entity_path(address)
    if path.lower() == "$cbs":
        return CbsNode()
    if path.lower().endswith(_MANAGEMENT):
        return ManagementNode(path[: -len(_MANAGEMENT)])
    return EntityNode(path)


def entity_path(address: str) -> str:
    """The path of an address or resource URI, without scheme, host and outer slashes."""
    path = unquote(urlsplit(address).path) if "://" in address else address
    return path.strip("/")
