"""Addresses in every form that clients use."""

import pytest

from devhost.servicebus.addresses import CbsNode, EntityNode, ManagementNode, Node, entity_path, parse_address


@pytest.mark.parametrize(
    ("address", "node"),
    [
        ("$cbs", CbsNode()),
        ("amqps://127.0.0.1:5672/queue", EntityNode("queue")),
        ("sb://host/queue/$DeadLetterQueue", EntityNode("queue/$DeadLetterQueue")),
        ("/queue/", EntityNode("queue")),
        ("queue/$management", ManagementNode("queue")),
        ("queue/$DeadLetterQueue/$Management", ManagementNode("queue/$DeadLetterQueue")),
        ("a/b", EntityNode("a/b")),
        ("amqps://host/with%20space", EntityNode("with space")),
    ],
)
def test_an_address_names_its_node(address: str, node: Node) -> None:
    assert parse_address(address) == node


def test_a_namespace_has_the_empty_path() -> None:
    assert entity_path("sb://host:5672/") == ""
