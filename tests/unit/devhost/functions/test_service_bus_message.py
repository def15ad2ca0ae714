"""A received message, as the trigger's converter gets it."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import azure.functions as func
import pytest
from azure.functions.servicebus import ServiceBusMessageInConverter
from azure.servicebus import ServiceBusReceivedMessage
from azure.servicebus.amqp import AmqpMessageBodyType

from devhost.functions.service_bus_message import application_properties, body_of, metadata_of

TOKEN = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")


def _received(**changes: Any) -> ServiceBusReceivedMessage:
    """What the SDK shows of a received message; it can be built by the SDK only from a live link."""
    shown = {
        "body_type": AmqpMessageBodyType.DATA,
        "body": iter([b"he", b"llo"]),
        "application_properties": None,
        "delivery_count": 0,
        "enqueued_time_utc": datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC),
        "expires_at_utc": None,
        "sequence_number": 7,
        "dead_letter_source": None,
        "lock_token": TOKEN,
        "message_id": "m",
        "content_type": None,
        "reply_to": None,
        "to": None,
        "subject": None,
        "correlation_id": None,
        "session_id": None,
        "reply_to_session_id": None,
        "partition_key": None,
    }
    return cast("ServiceBusReceivedMessage", SimpleNamespace(**(shown | changes)))


def _converted(**changes: Any) -> func.ServiceBusMessage:
    message = _received(**changes)
    return cast(
        "func.ServiceBusMessage",
        ServiceBusMessageInConverter.decode(
            body_of(message, binary=True), trigger_metadata=metadata_of(message)
        ),
    )


def test_the_sections_of_a_body_are_joined() -> None:
    assert body_of(_received(), binary=True).value == b"hello"
    assert body_of(_received(), binary=False).value == "hello"


def test_a_body_that_is_no_data_section_is_refused() -> None:
    with pytest.raises(TypeError, match="no binary data section"):
        body_of(_received(body_type=AmqpMessageBodyType.VALUE), binary=False)


def test_the_delivery_under_way_is_counted() -> None:
    assert _converted(delivery_count=4).delivery_count == 5
    assert _converted(delivery_count=None).delivery_count == 1


def test_times_have_no_zone_and_no_trailing_zeros() -> None:
    metadata = metadata_of(_received(expires_at_utc=datetime(2026, 2, 3, tzinfo=UTC)))
    assert json.loads(metadata["EnqueuedTimeUtc"].value) == "2026-01-02T03:04:05.678"
    assert json.loads(metadata["ExpiresAtUtc"].value) == "2026-02-03T00:00:00"
    assert _converted().enqueued_time_utc == datetime(2026, 1, 2, 3, 4, 5, 678_000)  # noqa: DTZ001 - naive, as given


def test_a_message_that_never_expires_shows_the_largest_date() -> None:
    expires = _converted().expires_at_utc
    assert expires is not None
    assert expires.year == 9999


def test_what_the_broker_gave_no_value_is_left_out() -> None:
    assert {"ContentType", "SessionId", "DeadLetterSource", "PartitionKey"}.isdisjoint(
        metadata_of(_received())
    )


def test_raw_strings_and_the_lock_token_become_text() -> None:
    converted = _converted(message_id=b"m-1", subject=b"s")
    assert (converted.message_id, converted.subject, converted.lock_token) == ("m-1", "s", str(TOKEN))


def test_application_properties_become_text_names_and_json_values() -> None:
    properties = {
        b"text": "é".encode(),
        "number": 7,
        b"bytes": b"\xff",
        b"when": datetime(2026, 1, 2, tzinfo=UTC),
        b"id": TOKEN,
        b"none": None,
    }
    assert application_properties(_received(application_properties=properties)) == {
        "text": "é",
        "number": 7,
        "bytes": "/w==",
        "when": "2026-01-02T00:00:00+00:00",
        "id": str(TOKEN),
        "none": None,
    }
