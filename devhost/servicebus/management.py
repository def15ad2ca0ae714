"""The `$management` node of a queue: requests and answers as messages.

Operations, names and types:
https://learn.microsoft.com/azure/service-bus-messaging/service-bus-amqp-request-response
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from devhost.amqp.errors import AmqpError
from devhost.amqp.message import RawMessage, Section, build
from devhost.amqp.types import Int, Symbol
from devhost.servicebus.engine import Engine
from devhost.servicebus.faults import ARGUMENT_ERROR, NOT_IMPLEMENTED, FaultError, fault_of, unexpected
from devhost.servicebus.model import BrokerError, QueueRef
from devhost.servicebus.requests import OPERATIONS

log = logging.getLogger(__name__)
_MESSAGE_ID = 0
_NO_CONTENT = 204
SHORTEST_SECONDS = 0.01
"""No answer comes sooner. The blocking SDK (azure-servicebus 7.15.0, `ManagementLink.execute_operation`)
registers a request after it has written it: another thread that reads the answer before drops it, and the
call waits for ever. Over a network an answer takes longer anyway.
"""


class Management:
    """Answers every request, errors included: a missing answer hangs the SDK for ever."""

    def __init__(self, engine: Engine, queue: QueueRef) -> None:
        self._engine = engine
        self._queue = queue

    async def answer(self, request: RawMessage) -> bytes:
        """The encoded answer, in no less than `SHORTEST_SECONDS`."""
        answer, _ = await asyncio.gather(self._answer(request), asyncio.sleep(SHORTEST_SECONDS))
        return answer

    async def _answer(self, request: RawMessage) -> bytes:
        try:
            correlation = request.field(Section.PROPERTIES, _MESSAGE_ID)
        except AmqpError:
            correlation = None
        try:
            return _success(correlation, await self._perform(request))
        except FaultError as fault:
            return _failure(correlation, fault)
        except BrokerError as error:
            return _failure(correlation, fault_of(error))
        except AmqpError as error:
            return _failure(correlation, FaultError(ARGUMENT_ERROR, f"The request cannot be read: {error}."))
        except Exception:
            log.exception("a management request on %s failed", self._queue.address)
            return _failure(correlation, unexpected())

    async def _perform(self, request: RawMessage) -> Mapping[object, object]:
        name = request.map(Section.APPLICATION_PROPERTIES).get("operation")
        operation = OPERATIONS.get(name) if isinstance(name, str) else None
        if operation is None:
            known = ", ".join(sorted(OPERATIONS))
            raise FaultError(
                NOT_IMPLEMENTED,
                f"The operation {name!r} is not implemented here: there are no sessions, rules or "
                f"batch deletions. Known are {known}.",
            )
        body = request.value()
        if not isinstance(body, dict):
            raise FaultError(ARGUMENT_ERROR, "The request's body must be a map.")
        return await operation(self._engine, self._queue, body)


def _success(correlation: object, body: Mapping[object, object]) -> bytes:
    empty = body.get("messages") == []
    code, text = (_NO_CONTENT, "No content") if empty else (200, "OK")
    return build(
        properties=[None] * 5 + [correlation],
        application_properties={"statusCode": Int(code), "statusDescription": text},
        value=dict(body),
    )


def _failure(correlation: object, fault: FaultError) -> bytes:
    return build(
        properties=[None] * 5 + [correlation],
        application_properties={
            "statusCode": Int(fault.status),
            "statusDescription": fault.description,
            "errorCondition": Symbol(fault.condition),
        },
        value={},
    )
