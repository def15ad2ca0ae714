"""A received Service Bus message in the form the Functions host hands to a worker.

The metadata keys are exactly those the host emits, null values left out: a dead letter's reason and
description are only in the application properties, and `EnqueuedTimeUtc` has no time zone. Sources:
ServiceBusTriggerBindingStrategy.cs in Azure/azure-sdk-for-net and ScriptInvocationContextExtensions.cs in
Azure/azure-functions-host.
"""

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from azure.functions.meta import Datum
from azure.servicebus import ServiceBusReceivedMessage
from azure.servicebus.amqp import AmqpMessageBodyType

from devhost.functions.convert import as_json, text

# What .NET gives for a message that never expires.
_NEVER = "9999-12-31T23:59:59.9999999"


def body_of(message: ServiceBusReceivedMessage, *, binary: bool) -> Datum:
    """The body: exact bytes if the binding says BINARY, else text, which loses bytes that are no UTF-8.

    Raises TypeError for a body that is not binary data, which the host's library cannot read either.
    """
    if message.body_type is not AmqpMessageBodyType.DATA:
        raise TypeError("the message body is no binary data section, so the host cannot bind it")
    data = b"".join(message.body)
    return Datum(data, "bytes") if binary else text(data.decode("utf-8", "replace"))


def metadata_of(message: ServiceBusReceivedMessage) -> dict[str, Datum]:
    """The trigger metadata, as ServiceBusMessageInConverter reads it."""
    properties = application_properties(message)
    metadata = {
        # .NET counts the delivery that is under way; the header does not.
        "DeliveryCount": as_json((message.delivery_count or 0) + 1),
        "ApplicationProperties": as_json(properties),
        "UserProperties": as_json(properties),
        **_times(message),
    }
    if message.sequence_number is not None:
        metadata["SequenceNumber"] = as_json(message.sequence_number)
    texts = {
        "DeadLetterSource": message.dead_letter_source,
        "LockToken": message.lock_token,
        "MessageId": message.message_id,
        "ContentType": message.content_type,
        "ReplyTo": message.reply_to,
        "To": message.to,
        "Subject": message.subject,
        "Label": message.subject,
        "CorrelationId": message.correlation_id,
        "SessionId": message.session_id,
        "ReplyToSessionId": message.reply_to_session_id,
        "PartitionKey": message.partition_key,
    }
    return metadata | {name: text(_plain(value)) for name, value in texts.items() if value is not None}


def application_properties(message: ServiceBusReceivedMessage) -> dict[str, Any]:
    """The application properties, names as text, values as JSON; the SDK gives both as bytes."""
    properties: Mapping[Any, Any] = message.application_properties or {}
    return {_plain(name): _json_value(value) for name, value in properties.items()}


def _times(message: ServiceBusReceivedMessage) -> dict[str, Datum]:
    times: dict[str, Datum] = {}
    if message.enqueued_time_utc is not None:
        naive = _timestamp(message.enqueued_time_utc)
        times |= {"EnqueuedTimeUtc": as_json(naive), "EnqueuedTime": as_json(f"{naive}+00:00")}
    expires = _NEVER if message.expires_at_utc is None else _timestamp(message.expires_at_utc)
    return times | {"ExpiresAtUtc": as_json(expires), "ExpiresAt": as_json(f"{expires}+00:00")}


def _timestamp(moment: datetime) -> str:
    """Json.NET's form of a date without a kind: no zone, and no zeros after the last digit."""
    whole, _, fraction = moment.replace(tzinfo=None).isoformat().partition(".")
    return f"{whole}.{fraction.rstrip('0')}" if fraction.strip("0") else whole


def _plain(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _json_value(value: object) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return value
