"""What a stack still holds of thousands of jobs: open rows, messages, open cases, and the jobs' states."""

from azure.data.tables import TableServiceClient
from azure.servicebus import ServiceBusClient, ServiceBusSubQueue

from tests.flows.driver import Flow


def open_rows(flow: Flow) -> list[str]:
    return flow.row_keys("open")


def open_cases(flow: Flow) -> bool:
    """Whether a case is left to settle, or nobody can tell."""
    reply = flow.get("dead-letters?state=open&limit=1")
    return reply.status != 200 or bool(reply.document["cases"])


def messages(flow: Flow) -> list[str]:
    """Whatever waits in the queue and in its dead-letter queue."""
    found: list[str] = []
    with ServiceBusClient.from_connection_string(flow.stack.servicebus) as client:
        for part in (None, ServiceBusSubQueue.DEAD_LETTER):
            with client.get_queue_receiver("ai-jobs", sub_queue=part) as receiver:
                found += [str(message.message_id) for message in receiver.peek_messages(50)]
    return found


def states(flow: Flow) -> dict[str, str]:
    """Each stored job's state."""
    with TableServiceClient.from_connection_string(flow.stack.storage) as service:
        rows = service.get_table_client("jobs").query_entities(
            "RowKey eq 'job'", select=["PartitionKey", "state"]
        )
        return {str(row["PartitionKey"]): str(row["state"]) for row in rows}
