"""A look into a real queue."""

from azure.servicebus import ServiceBusReceivedMessage

from shared.adapters.connections import Connections


async def peeked(connections: Connections, queue: str) -> list[ServiceBusReceivedMessage]:
    """Every message in the queue, due or delayed; an answer may hold fewer than were asked for."""
    found: list[ServiceBusReceivedMessage] = []
    async with connections.service_bus().get_queue_receiver(queue) as receiver:
        while page := await receiver.peek_messages(100):
            found.extend(page)
    return found
