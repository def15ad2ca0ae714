"""What the Functions host hands to a worker, made up by tests.

Text travels as `string`, numbers, dates and dictionaries as `json` (GrpcMessageConversionExtensions.cs in
https://github.com/Azure/azure-functions-host).
"""

from collections.abc import Mapping

from azure.functions.meta import Datum

from devhost.functions.convert import as_json, text

TIMER = as_json({"Schedule": {}, "ScheduleStatus": None, "IsPastDue": False})


def http(
    method: str,
    route: str,
    params: Mapping[str, str],
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
) -> Datum:
    """A request: header names in lower case, raw body, the route's `params` apart."""
    sent = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    return Datum(
        {
            "method": text(method),
            "url": text("https://app.example/api/" + route.format(**params)),
            "headers": {name: text(value) for name, value in sent.items()},
            "params": {name: text(value) for name, value in params.items()},
            "query": {},
            "body": Datum(body, "bytes"),
        },
        "http",
    )


def unreadable_message() -> tuple[Datum, dict[str, Datum]]:
    """Body and metadata of a queue message that nobody of ours sent."""
    metadata = {"MessageId": text("foreign-1"), "DeliveryCount": as_json(1), "SequenceNumber": as_json(7)}
    properties = {"ApplicationProperties": as_json({}), "UserProperties": as_json({})}
    return Datum(b"\xff\x00 no JSON", "bytes"), metadata | properties
